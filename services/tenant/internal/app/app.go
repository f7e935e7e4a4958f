// Package app owns the tenant service's use cases. Each loads, decides and commits in one
// transaction; passwords are hashed outside of it, so that no connection waits for them.
package app

import (
	"log/slog"
	"time"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// Policy is what the deployment decides for everybody.
type Policy struct {
	Currency    string
	BillingMode domain.BillingMode
	Approved    bool          // whether new orgs start approved
	Limits      domain.Limits // what new orgs start with
	AccessTTL   time.Duration // of an access token
	RefreshTTL  time.Duration // of one refresh token
	SessionTTL  time.Duration // of a login, however often it is refreshed
	EnforceWait time.Duration // how long a change waits for the allocator
}

// Deps is what the use cases need.
type Deps struct {
	Store     domain.Store
	Passwords domain.Passwords
	Tokens    domain.Tokens
	Guesses   domain.Guesses
	Enforcer  domain.Enforcer
	Clock     clock.Clock
	Log       *slog.Logger
	Policy    Policy
}

// App is the use cases.
type App struct{ Deps }

// New returns the use cases.
func New(d Deps) *App { return &App{d} }

// now is the instant as it is stored and shown: to the millisecond.
func (a *App) now() time.Time { return a.Clock.Now().UTC().Truncate(time.Millisecond) }

// manages reports whether the caller looks after everybody's keys and not just its own.
func manages(a actor.Actor) bool { return a.Role == actor.Owner || a.Role == actor.Admin }

func unauthenticated(public string) error { return fault.New(fault.Unauthenticated, public) }
