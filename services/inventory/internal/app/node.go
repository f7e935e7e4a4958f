package app

import (
	"context"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

var errNoNode = fault.New(fault.NotFound, "There is no such node.")

// Pools lists pools.
func (a *App) Pools(ctx context.Context, p domain.Page) (pools []domain.Pool, err error) {
	err = a.store.Read(ctx, func(tx domain.Tx) (err error) { pools, err = tx.Pools(p); return err })
	return pools, err
}

// Nodes lists nodes by id.
func (a *App) Nodes(ctx context.Context, f domain.NodeFilter, p domain.Page) (nodes []domain.Node, err error) {
	err = a.store.Read(ctx, func(tx domain.Tx) (err error) { nodes, err = tx.Nodes(f, p); return err })
	return nodes, err
}

// Node returns one node.
func (a *App) Node(ctx context.Context, node string) (n domain.Node, err error) {
	if !id.Valid(id.Node, node) {
		return n, errNoNode
	}
	err = a.store.Read(ctx, func(tx domain.Tx) (err error) { n, err = tx.Node(node); return err })
	return n, err
}

// NodeByName returns the node of that name; a retired one only when no other has it.
func (a *App) NodeByName(ctx context.Context, name string) (n domain.Node, err error) {
	if !domain.ValidNodeName(name) {
		return n, errNoNode
	}
	err = a.store.Read(ctx, func(tx domain.Tx) (err error) { n, err = tx.NodeByName(name); return err })
	return n, err
}

// UpdateNode changes what an operator may change. match is the version that the change is
// based on, or nil.
func (a *App) UpdateNode(ctx context.Context, node string, match *int64, u domain.NodeUpdate) (n domain.Node, err error) {
	if !id.Valid(id.Node, node) {
		return n, errNoNode
	}
	if err := u.Validate(); err != nil {
		return n, err
	}
	err = a.store.Write(ctx, func(tx domain.Tx) (err error) {
		if n, err = tx.LockNode(node); err != nil {
			return err
		}
		if n.State == domain.NodeRetired {
			return fault.New(fault.Conflict, "This node is retired.")
		}
		if err := checkMatch(match, n.Version); err != nil || !u.Apply(&n) {
			return err
		}
		return a.save(tx, &n)
	})
	return n, err
}

// RetireNode takes a node out for good.
func (a *App) RetireNode(ctx context.Context, node string) error {
	if !id.Valid(id.Node, node) {
		return errNoNode
	}
	return a.store.Write(ctx, func(tx domain.Tx) error {
		n, err := tx.LockNode(node)
		if err != nil || n.State == domain.NodeRetired {
			return err
		}
		inUse, err := tx.InUse(node)
		if err != nil {
			return err
		}
		if err := n.CheckRetire(inUse); err != nil {
			return err
		}
		now := a.clk.Now()
		n.State, n.Reason, n.RetiredAt = domain.NodeRetired, domain.ByOperator, now
		if err := tx.RevokeCertificates(node, now); err != nil {
			return err
		}
		return a.save(tx, &n)
	})
}

// save writes a changed node and tells it to the feed.
func (a *App) save(tx domain.Tx, n *domain.Node) error {
	gpus, err := tx.GPUsOf(n.ID)
	if err != nil {
		return err
	}
	if err := tx.UpdateNode(n, a.clk.Now()); err != nil {
		return err
	}
	return tx.Publish(*n, gpus)
}

func checkMatch(match *int64, version int64) error {
	if match == nil || *match == version {
		return nil
	}
	return fault.New(fault.Stale, "This was changed in the meantime. Read it again and retry.")
}
