package work

import (
	"context"
	"log/slog"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/metering/internal/store"
)

// Orgs follows the tenant service's orgs. A list is applied like items: versions tell what
// is news.
func Orgs(db *pg.DB, m mesh.Mesh, clk clock.Clock, log *slog.Logger) *outbox.Consumer {
	return outbox.NewConsumer(db, m, "tenant", "orgs", clk, log, func(_ context.Context, tx *pg.Tx, items []outbox.Item, _ time.Time) error {
		for _, item := range items {
			o, err := orgOf(item.ID, item.Data)
			if err != nil {
				return err
			}
			if err := store.SaveOrg(tx, o); err != nil {
				return err
			}
		}
		return nil
	}, nil)
}
