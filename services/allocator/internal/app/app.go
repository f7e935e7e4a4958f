package app

import (
	"context"
	"log/slog"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// Deps is what the use cases work with.
type Deps struct {
	Reader         domain.Reader
	Checker        domain.Checker
	Sealer         domain.Sealer
	Real, Business clock.Clock
	Log            *slog.Logger
	// Sync applies peers' feeds up to their heads.
	Sync func(ctx context.Context, feeds ...string) error
}

// App is the use cases of the allocator.
type App struct {
	deps   Deps
	writer *Writer
}

// New returns the use cases on a writer.
func New(deps Deps, w *Writer) *App { return &App{deps: deps, writer: w} }

// The feeds of peers.
const (
	FeedOrgs   = "orgs"
	FeedLimits = "limits"
	FeedNodes  = "nodes"
	FeedPrices = "prices"
)

// SyncFeed applies a peer's feed up to its head: what was published before is in force
// when this returns.
func (a *App) SyncFeed(ctx context.Context, feed string) error { return a.deps.Sync(ctx, feed) }

// LimitUsage is what an org uses of its limits.
func (a *App) LimitUsage(ctx context.Context, org string) (domain.Usage, error) {
	return a.deps.Reader.Usage(ctx, org)
}
