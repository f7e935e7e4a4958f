package domain

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/money"
)

// Price is one version of an offering's price in one currency.
type Price struct {
	VersionID     string
	Offering      string
	Currency      string
	PerHour       money.Micro // of one card or slice
	EffectiveFrom time.Time
}

// PriceBook is every version known.
type PriceBook map[string][]Price // by offering and currency

func priceKey(offering, currency string) string { return offering + "|" + currency }

// Put adds a version, or replaces it.
func (b PriceBook) Put(p Price) {
	key := priceKey(p.Offering, p.Currency)
	for i, have := range b[key] {
		if have.VersionID == p.VersionID {
			b[key][i] = p
			return
		}
	}
	b[key] = append(b[key], p)
}

// At is the price that something started at that instant would pin: of those in effect
// the last to come into it.
func (b PriceBook) At(offering, currency string, at time.Time) (Price, bool) {
	var best Price
	found := false
	for _, p := range b[priceKey(offering, currency)] {
		if p.EffectiveFrom.After(at) {
			continue
		}
		if !found || p.EffectiveFrom.After(best.EffectiveFrom) || p.EffectiveFrom.Equal(best.EffectiveFrom) && p.VersionID > best.VersionID {
			best, found = p, true
		}
	}
	return best, found
}
