// Package work owns the tenant service's background loops.
package work

import (
	"context"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/reconcile"
)

const (
	sweepEvery = 10 * time.Minute
	// sessionsKept is how long a login stays on record after it is over.
	sessionsKept = 7 * 24 * time.Hour
)

// sweeper deletes what is over.
type sweeper interface {
	Sweep(ctx context.Context, now, kept time.Time) error
}

// SweepSessions deletes expired refresh tokens and old sessions.
func SweepSessions(s sweeper, clk clock.Clock) host.Worker {
	return reconcile.Loop("sweep-sessions", clk, sweepEvery, nil, func(ctx context.Context) error {
		now := clk.Now()
		return s.Sweep(ctx, now, now.Add(-sessionsKept))
	})
}
