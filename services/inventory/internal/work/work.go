// Package work owns the inventory's loops: finding nodes that fell silent, and forgetting
// what ended long ago.
package work

import (
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/reconcile"
	"github.com/weirhq/weir/services/inventory/internal/app"
)

const sweepEvery = time.Hour

// Workers are the loops. Silence is looked for once a second, or more often where the
// time-out is short.
func Workers(a *app.App, clk clock.Clock, nodeTimeout time.Duration) []host.Worker {
	return []host.Worker{
		reconcile.Loop("silence", clk, min(time.Second, nodeTimeout/4), nil, a.MarkSilent),
		reconcile.Loop("sweep", clk, sweepEvery, nil, a.Sweep),
	}
}
