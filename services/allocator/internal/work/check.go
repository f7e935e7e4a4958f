package work

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/reconcile"
	"github.com/weirhq/weir/services/allocator/internal/app"
)

const checkEvery = 30 * time.Second

// Check looks for broken invariants in the pool and the database, and says so loudly.
func Check(a *app.App, clk clock.Clock, log *slog.Logger) host.Worker {
	return reconcile.Loop("check-invariants", clk, checkEvery, nil, func(ctx context.Context) error {
		s, err := a.Snapshot(ctx)
		if errors.Is(err, fault.Unavailable) {
			return nil // another process leads, and checks
		}
		if err != nil {
			return err
		}
		for _, v := range s.Violations {
			log.ErrorContext(ctx, "an invariant is broken", "code", v.Code, "where", v.Where, "detail", v.Detail)
		}
		return nil
	})
}
