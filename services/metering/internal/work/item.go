package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/services/metering/internal/domain"
	"github.com/weirhq/weir/services/metering/internal/meter"
)

// memberItem is an item of the instances feed about a member, as the allocator writes it.
type memberItem struct {
	Kind            string     `json:"kind"`
	Instance        string     `json:"instance"`
	Member          string     `json:"member"`
	Org             string     `json:"org"`
	Project         string     `json:"project"`
	Offering        string     `json:"offering"`
	OfferingVersion int64      `json:"offering_version"`
	PriceVersion    string     `json:"price_version"`
	PerHourMicro    int64      `json:"per_hour_micro"`
	Currency        string     `json:"currency"`
	Cards           int64      `json:"cards"`
	GPUeMicro       int64      `json:"gpue_micro"`
	State           string     `json:"state"`
	Reason          string     `json:"reason"`
	At              time.Time  `json:"at"`
	BillableFrom    *time.Time `json:"billable_from"`
	BillableUntil   *time.Time `json:"billable_until"`
	Ended           bool       `json:"ended"`
}

var currencyShape = regexp.MustCompile(`^[A-Z]{3}$`)

// factOf reads an item of the instances feed; nil for one that is about no member. A broken
// item is an error that stops the feed: skipping it would lose or invent money in silence,
// standing still shows as a growing lag.
func factOf(id string, pos int64, data json.RawMessage) (*meter.Fact, error) {
	var m memberItem
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("item %s of the instances feed: %w", id, err)
	}
	if m.Kind != "member" {
		return nil, nil // heartbeats, and kinds that a newer allocator may know
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("item %s of the instances feed: %w", id, err)
	}
	f := &meter.Fact{
		Item: id, Pos: pos, At: m.At, Ended: m.Ended, Reason: m.Reason,
		Pin: meter.Pin{
			Org: m.Org, Project: m.Project, Instance: m.Instance, Member: m.Member, Offering: m.Offering, OfferingVersion: m.OfferingVersion,
			PriceVersion: m.PriceVersion, PerHour: money.Micro(m.PerHourMicro), Currency: m.Currency, Cards: m.Cards, GPUeMicro: m.GPUeMicro,
		},
	}
	if f.Reason == "" {
		f.Reason = m.State
	}
	if m.BillableFrom != nil {
		f.From = *m.BillableFrom
	}
	if m.BillableUntil != nil {
		f.Until = *m.BillableUntil
	}
	return f, nil
}

func (m memberItem) check() error {
	switch {
	case m.Member == "" || m.Instance == "" || m.Org == "":
		return errors.New("member, instance or org is missing")
	case m.At.IsZero():
		return errors.New("at is missing")
	case m.BillableFrom == nil:
		return nil // what it costs matters where the meter starts
	case m.Offering == "" || m.PriceVersion == "":
		return errors.New("billable without an offering or a price version")
	case !currencyShape.MatchString(m.Currency):
		return fmt.Errorf("billable in %q, which is no currency", m.Currency)
	case m.PerHourMicro < 0 || m.Cards < 0 || m.GPUeMicro < 0:
		return errors.New("billable with a negative price or size")
	}
	return nil
}

// orgOf reads an item of the orgs feed.
func orgOf(id string, data json.RawMessage) (domain.Org, error) {
	var o struct {
		ID       string `json:"id"`
		Currency string `json:"currency"`
		TimeZone string `json:"time_zone"`
		Version  int64  `json:"version"`
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return domain.Org{}, fmt.Errorf("item %s of the orgs feed: %w", id, err)
	}
	if o.ID == "" || !currencyShape.MatchString(o.Currency) {
		return domain.Org{}, fmt.Errorf("item %s of the orgs feed: no id or no currency", id)
	}
	return domain.Org(o), nil
}

// PriceItem is an item of our prices feed.
type PriceItem struct {
	VersionID     string    `json:"version_id"`
	Offering      string    `json:"offering"`
	Currency      string    `json:"currency"`
	PerHourMicro  int64     `json:"per_hour_micro"`
	EffectiveFrom time.Time `json:"effective_from"`
}

// ItemOf writes a price version for the feed, with its key.
func ItemOf(p domain.Price) (key string, item PriceItem) {
	return p.Offering + "/" + p.Currency, PriceItem{p.ID, p.Offering, p.Currency, int64(p.PerHour), p.From}
}
