package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/services/metering/internal/domain"
)

// Costs is what the named instances have cost so far, running meters included. One that
// never ran, or that the caller may not see, is left out.
func (s *Service) Costs(ctx context.Context, instances []string) ([]domain.Cost, error) {
	who := actor.From(ctx)
	var costs []domain.Cost
	err := s.Store.View(ctx, who.Org, who.Operator, func(v View) error {
		asOf, err := v.AsOf()
		if err != nil {
			return err
		}
		charges, err := v.ChargesOf(instances, s.openUntil(asOf), who.Project)
		if err != nil {
			return fmt.Errorf("read costs: %w", err)
		}
		sums := map[string]domain.Cost{}
		for _, c := range charges {
			sum := sums[c.Instance]
			sums[c.Instance] = domain.Cost{Instance: c.Instance, Currency: c.Currency, Cost: sum.Cost.Add(c.Between(c.Start, c.End).Cost)}
		}
		costs = slices.SortedFunc(maps.Values(sums), func(a, b domain.Cost) int { return cmp.Compare(a.Instance, b.Instance) })
		return nil
	})
	return costs, err
}
