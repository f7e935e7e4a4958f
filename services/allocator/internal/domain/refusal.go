package domain

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/money"
)

// Alternative is something that would fit now.
type Alternative struct {
	Offering  string           `json:"offering"`
	Count     int              `json:"count"`
	Share     *int             `json:"share"`
	Available int              `json:"available"`
	Price     AlternativePrice `json:"price"`
}

// AlternativePrice is per hour for the whole count.
type AlternativePrice struct {
	PerHour  string `json:"per_hour"`
	Currency string `json:"currency"`
	Version  string `json:"version"`
}

// QuotaExceeded refuses what would pass a limit.
func QuotaExceeded(e Excess, alternatives []Alternative) error {
	f := fault.New(fault.QuotaExceeded, fmt.Sprintf("This needs %s more of %s; your org uses %s of %s.", e.number(e.Requested), e.Resource, e.number(e.Used), e.number(e.Limit)))
	return f.With("resource", e.Resource).With("scope", "org").With("limit", e.number(e.Limit)).With("used", e.number(e.Used)).
		With("requested", e.number(e.Requested)).With("alternatives", list(alternatives))
}

func (e Excess) number(v int64) json.Number {
	switch {
	case e.Millionth:
		return Decimal(v, 6)
	case e.Thousandths:
		return Decimal(v, 3)
	}
	return Decimal(v, 0)
}

// NoCapacity refuses what has no room now, or never will.
func NoCapacity(resource string, limit, used, requested int64, impossible bool, detail string, alternatives []Alternative) error {
	if impossible {
		detail = "No card could ever hold this: " + detail
	}
	f := fault.New(fault.NoCapacity, detail)
	return f.With("resource", resource).With("scope", "pool").With("limit", limit).With("used", used).With("requested", requested).
		With("impossible", impossible).With("alternatives", list(alternatives))
}

// PriceChanged refuses what costs more than the caller said it may.
func PriceChanged(offering string, p money.Micro, currency, version string) error {
	f := fault.New(fault.PriceChanged, fmt.Sprintf("%s now costs %s %s per hour, above max_price_per_hour.", offering, p, currency))
	return f.With("price", AlternativePrice{PerHour: p.String(), Currency: currency, Version: version})
}

// NotOnOffer refuses a name that is not in the catalogue.
func NotOnOffer(in CreateInput, i int, why string) error {
	return fault.InvalidField(in.field(i), why)
}

// InTrouble refuses orgs whose standing forbids new work.
func (o Org) InTrouble() error {
	switch o.Standing {
	case "suspended":
		return fault.New(fault.OrgSuspended, "Your org is suspended: it cannot start anything.")
	case "overdue":
		return fault.New(fault.OrgOverdue, "Your org has overdue invoices: it cannot start anything until they are paid.")
	}
	return nil
}

// NoInstance is the one answer for unknown, foreign and malformed ids.
func NoInstance() error { return fault.New(fault.NotFound, "There is no such instance.") }

func list(a []Alternative) []Alternative {
	if a == nil {
		return []Alternative{}
	}
	return a
}

// Decimal writes v / 10^places without trailing zeros.
func Decimal(v int64, places int) json.Number {
	s := new(big.Rat).SetFrac(big.NewInt(v), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)).FloatString(places)
	if places > 0 {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return json.Number(s)
}

// ParseDecimal reads a JSON number as v × 10^places, exactly.
func ParseDecimal(n json.Number, places int) (int64, error) {
	s := n.String()
	// A short text may say an absurdly large number: 1e999999999.
	if i := strings.IndexAny(s, "eE"); len(s) > 40 || i >= 0 && len(s)-i > 4 {
		return 0, fmt.Errorf("must be a number with at most %d decimals", places)
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, fmt.Errorf("must be a number with at most %d decimals", places)
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)))
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, fmt.Errorf("must be a number with at most %d decimals", places)
	}
	return r.Num().Int64(), nil
}

// NewAlternative prices count of an offering.
func NewAlternative(offering string, count, available int, p Price) Alternative {
	return Alternative{Offering: offering, Count: count, Available: available,
		Price: AlternativePrice{PerHour: (p.PerHour * money.Micro(count)).String(), Currency: p.Currency, Version: p.VersionID}}
}

// Replay carries the stored answer of an earlier request with the same key and body.
type Replay struct {
	Status int
	JSON   []byte
}

func (r *Replay) Error() string { return "answered before with the same idempotency key" }

// Repeat is what the answer means for another request with its key.
func (a Answer) Repeat(k RequestKey) error {
	if a.Key.Body != k.Body {
		return fault.New(fault.IdempotencyMismatch, "This Idempotency-Key was used before with another request body. Use a new key for a new request.")
	}
	return &Replay{Status: a.Status, JSON: a.JSON}
}
