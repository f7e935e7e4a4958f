package app

import (
	"context"

	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// Facts of peers. They are in the database already when they come here: the consumer of
// the feed wrote them in the transaction of its cursor, held against a takeover.

// OrgsChanged takes in orgs.
func (w *Writer) OrgsChanged(ctx context.Context, orgs []domain.Org) error {
	return w.do(ctx, func(p *plan) error {
		for _, o := range orgs {
			p.orgs[o.ID] = o
		}
		return nil
	})
}

// LimitsChanged takes in limits. One below what is used blocks new work and stops nothing.
func (w *Writer) LimitsChanged(ctx context.Context, limits []domain.Limits) error {
	return w.do(ctx, func(p *plan) error {
		for _, l := range limits {
			p.limits[l.Org] = l
		}
		return nil
	})
}

// PricesChanged takes in price versions, which count for new starts only.
func (w *Writer) PricesChanged(ctx context.Context, prices []domain.Price) error {
	return w.do(ctx, func(p *plan) error {
		for _, v := range prices {
			p.prices.Put(v)
		}
		return nil
	})
}

// NodesChanged takes in nodes: health, cordons, hardware.
func (w *Writer) NodesChanged(ctx context.Context, nodes []domain.Node) error {
	return w.do(ctx, func(p *plan) error {
		for _, n := range nodes {
			p.setNode(n)
			p.nodesUsed[n.ID] = true
			p.putNode(n, p.w.sells(n, p.real))
		}
		p.pending = append(p.pending, p.revise()...)
		return nil
	})
}
