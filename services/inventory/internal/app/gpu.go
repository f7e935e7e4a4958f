package app

import (
	"context"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

var errNoGPU = fault.New(fault.NotFound, "There is no such card.")

// GPUs lists cards by node and index.
func (a *App) GPUs(ctx context.Context, f domain.GPUFilter, p domain.Page) (gpus []domain.GPU, err error) {
	err = a.store.Read(ctx, func(tx domain.Tx) (err error) { gpus, err = tx.GPUs(f, p); return err })
	return gpus, err
}

// GPU returns one card.
func (a *App) GPU(ctx context.Context, gpu string) (g domain.GPU, err error) {
	if !id.Valid(id.GPU, gpu) {
		return g, errNoGPU
	}
	err = a.store.Read(ctx, func(tx domain.Tx) (err error) { g, err = tx.GPU(gpu); return err })
	return g, err
}

// UpdateGPU changes what an operator may change. match is the version that the change is
// based on, or nil.
func (a *App) UpdateGPU(ctx context.Context, gpu string, match *int64, u domain.GPUUpdate) (g domain.GPU, err error) {
	if !id.Valid(id.GPU, gpu) {
		return g, errNoGPU
	}
	err = a.store.Write(ctx, func(tx domain.Tx) (err error) {
		n, err := lockNodeOf(tx, gpu)
		if err != nil {
			return err
		}
		if g, err = tx.GPU(gpu); err != nil { // again, now that nobody else may change it
			return err
		}
		if err := checkMatch(match, g.Version); err != nil || !u.Apply(&g) {
			return err
		}
		if err := tx.SaveGPU(&g, a.clk.Now()); err != nil {
			return err
		}
		return a.save(tx, &n)
	})
	return g, err
}

// lockNodeOf locks the node that a card is on; the card may have moved while we waited.
func lockNodeOf(tx domain.Tx, gpu string) (domain.Node, error) {
	for {
		g, err := tx.GPU(gpu)
		if err != nil {
			return domain.Node{}, err
		}
		n, err := tx.LockNode(g.Node)
		if err != nil {
			return n, err
		}
		after, err := tx.GPU(gpu)
		if err != nil || after.Node == n.ID {
			return n, err
		}
	}
}
