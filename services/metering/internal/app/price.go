package app

import (
	"context"

	"github.com/weirhq/weir/services/metering/internal/domain"
)

// Prices is a page of the public price list.
func (s *Service) Prices(ctx context.Context, q domain.PriceQuery) ([]domain.Price, bool, error) {
	return s.Store.Prices(ctx, q)
}
