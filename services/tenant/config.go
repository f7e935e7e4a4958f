package tenant

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/services/tenant/internal/domain"
	"github.com/weirhq/weir/services/tenant/internal/guess"
	"github.com/weirhq/weir/services/tenant/internal/password"
)

// Config is what a deployment decides about its tenants. Default fills it; zero values
// of Limits mean unlimited.
type Config struct {
	Currency    string // of orgs that do not choose: CNY or USD
	BillingMode string // of new orgs: prepaid or postpaid
	Approved    bool   // whether new orgs start approved
	Limits      Limits // what new orgs start with

	AccessTTL   time.Duration // of an access token, at most 15 minutes
	RefreshTTL  time.Duration // of one refresh token: the longest pause in a login
	SessionTTL  time.Duration // of a login as a whole
	EnforceWait time.Duration // how long an operator's change waits for the allocator

	Password PasswordCost
	Guesses  GuessLimits

	// Bootstrap accounts exist once the service has started.
	Bootstrap []BootstrapAccount

	MaxConns int // of each of the two database pools
}

// Limits is what an org may use at once; nil = unlimited.
type Limits struct {
	GPUeMicro       *int64 // millionths of a GPU equivalent
	Instances       *int64
	QueuedInstances *int64
	VCPUsMilli      *int64 // thousandths of a core
	RAMMiB          *int64
}

// PasswordCost is what one password hash takes.
type PasswordCost struct {
	MemoryKiB, Iterations uint32
	Concurrent            int // hashes at once
	Waiting               int // beyond which a login is refused as unavailable
}

// GuessLimits is how many logins may fail within Window.
type GuessLimits struct {
	Account, Address, Total int
	Window                  time.Duration
}

// BootstrapAccount is an operator (no OrgName) or the owner of an org of its own.
type BootstrapAccount struct {
	Email, Name, OrgName string
	Operator             bool
	Password             string
	// ResetPassword makes Password the account's even when it has another, and ends its
	// sessions: for a password that was given in words, not generated.
	ResetPassword bool
}

// Default is a configuration for a deployment that bills in CNY after use.
func Default() Config {
	n := func(v int64) *int64 { return &v }
	g := guess.DefaultLimits
	return Config{
		Currency: "CNY", BillingMode: string(domain.Postpaid), Approved: true,
		Limits:    Limits{GPUeMicro: n(16_000_000), Instances: n(20), QueuedInstances: n(100)},
		AccessTTL: 10 * time.Minute, RefreshTTL: 7 * 24 * time.Hour, SessionTTL: 30 * 24 * time.Hour, EnforceWait: 2 * time.Second,
		Password: PasswordCost{MemoryKiB: password.DefaultCost.MemoryKiB, Iterations: password.DefaultCost.Iterations, Concurrent: 2, Waiting: 32},
		Guesses:  GuessLimits{Account: g.Account, Address: g.Address, Total: g.Total, Window: g.Window},
		MaxConns: 8,
	}
}

// Validate joins everything that is wrong.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New("tenant: "+what))
		}
	}
	check(c.Currency == "CNY" || c.Currency == "USD", "currency must be CNY or USD")
	check(c.BillingMode == string(domain.Prepaid) || c.BillingMode == string(domain.Postpaid), "billing mode must be prepaid or postpaid")
	check(c.AccessTTL > 0 && c.AccessTTL <= 15*time.Minute, "an access token may live for at most 15 minutes")
	check(c.RefreshTTL >= c.AccessTTL && c.SessionTTL >= c.RefreshTTL, "a session must live as long as its refresh tokens, and those as long as access tokens")
	check(c.EnforceWait > 0, "the wait for the allocator must be positive")
	check(c.Password.MemoryKiB >= 8 && c.Password.Iterations >= 1 && c.Password.Concurrent >= 1 && c.Password.Waiting >= 0, "the password cost is too low")
	check(c.Guesses.Account >= 1 && c.Guesses.Address >= 1 && c.Guesses.Total >= 1 && c.Guesses.Window > 0, "the limits of failed logins must be positive")
	check(c.MaxConns >= 1, "a database pool needs a connection")
	for name, l := range map[string]*int64{"gpue": c.Limits.GPUeMicro, "instances": c.Limits.Instances, "queued_instances": c.Limits.QueuedInstances, "vcpus": c.Limits.VCPUsMilli, "ram_mib": c.Limits.RAMMiB} {
		check(l == nil || *l >= 0, fmt.Sprintf("limit %s must not be negative", name))
	}
	for _, b := range c.Bootstrap {
		in := domain.Bootstrap(b)
		if err := in.Clean(); err != nil {
			errs = append(errs, fmt.Errorf("tenant: account %s: %w", b.Email, err))
		}
	}
	return errors.Join(errs...)
}
