package idem

import (
	"context"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/kit/reconcile"
)

const pruneEvery = 10 * time.Minute

// Pruner is the worker that forgets old keys of a schema. db is the work role's pool.
func Pruner(db *pg.DB, clk clock.Clock) host.Worker {
	return reconcile.Loop("prune-idempotency", clk, pruneEvery, nil, func(ctx context.Context) error {
		for {
			var n int64
			err := db.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) (err error) {
				n, err = Prune(tx)
				return err
			})
			if err != nil || n == 0 {
				return err
			}
		}
	})
}
