package domain

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/money"
)

// Price is a price version: what one card or slice of an offering costs per hour in one
// currency, from an instant on. It never changes; a new price is a new version.
type Price struct {
	ID       string
	Offering string
	Currency string
	PerHour  money.Micro
	From     time.Time
	To       *time.Time // the next version's From; nil when there is none
}

// PriceQuery asks for a page of the price list.
type PriceQuery struct {
	Offering, Currency string // empty: all
	After              *PriceKey
	Limit              int
}

// PriceKey orders the price list and names one version.
type PriceKey struct {
	Offering, Currency string
	From               time.Time
}

// Key is p's place in the list.
func (p Price) Key() PriceKey { return PriceKey{p.Offering, p.Currency, p.From} }
