package app

import (
	"context"

	"github.com/weirhq/weir/services/inventory/internal/domain"
)

// Items tells every node as it is now, retired ones included.
func (a *App) Items(ctx context.Context) (items []domain.Item, err error) {
	err = a.store.Write(ctx, func(tx domain.Tx) error {
		nodes, err := tx.AllNodes()
		if err != nil {
			return err
		}
		gpus, err := tx.AllGPUs()
		if err != nil {
			return err
		}
		items = make([]domain.Item, 0, len(nodes))
		for _, n := range nodes {
			items = append(items, domain.NewItem(n, gpus[n.ID]))
		}
		return nil
	})
	return items, err
}
