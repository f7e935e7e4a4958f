package app

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// Offer is an offering with its price and how much of it there is.
type Offer struct {
	domain.Offering
	Price            domain.Price
	Available        int
	AfterReconfigure int
}

// defaultCurrency is what callers without an org see prices in.
const defaultCurrency = "CNY"

// Offerings are what the pool has and the price list prices in the org's currency, by id.
func (a *App) Offerings(ctx context.Context, org string) ([]Offer, error) {
	for synced := false; ; synced = true {
		var out []Offer
		known := true
		err := a.writer.look(ctx, func(m *memory) {
			out = nil
			currency := defaultCurrency
			if org != "" {
				var o domain.Org
				if o, known = m.orgs[org]; !known {
					return
				}
				currency = o.Currency
			}
			av, now := m.availability(), domain.Ms(a.deps.Business.Now())
			for _, o := range m.catalogue {
				if price, ok := m.prices.At(o.ID, currency, now); ok {
					out = append(out, Offer{Offering: o, Price: price, Available: av.free[o.ID], AfterReconfigure: av.after[o.ID]})
				}
			}
		})
		if err != nil || known {
			return out, err
		}
		if synced {
			return nil, unknownOrg()
		}
		if err := a.deps.Sync(ctx, FeedOrgs); err != nil {
			return nil, fmt.Errorf("read the orgs: %w", err)
		}
	}
}
