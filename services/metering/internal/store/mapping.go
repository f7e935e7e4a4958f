package store

import (
	"time"

	"github.com/weirhq/weir/services/metering/internal/meter"
)

type intervalRow struct {
	ID              string     `json:"id"`
	Org             string     `json:"org"`
	Project         string     `json:"project"`
	Instance        string     `json:"instance"`
	Member          string     `json:"member"`
	Offering        string     `json:"offering"`
	OfferingVersion int64      `json:"offering_version"`
	PriceVersion    string     `json:"price_version"`
	PerHourMicro    int64      `json:"per_hour_micro"`
	Currency        string     `json:"currency"`
	Cards           int64      `json:"cards"`
	GPUeMicro       int64      `json:"gpue_micro"`
	Since           time.Time  `json:"since"`
	Until           *time.Time `json:"until"`
	OpenedBy        string     `json:"opened_by"`
	ClosedBy        *string    `json:"closed_by"`
	EndReason       *string    `json:"end_reason"`
}

func intervalOf(i meter.Interval) intervalRow {
	r := intervalRow{
		ID: i.ID, Org: i.Org, Project: i.Project, Instance: i.Instance, Member: i.Member,
		Offering: i.Offering, OfferingVersion: i.OfferingVersion, PriceVersion: i.PriceVersion, PerHourMicro: int64(i.PerHour),
		Currency: i.Currency, Cards: i.Cards, GPUeMicro: i.GPUeMicro, Since: i.Start, OpenedBy: i.OpenedBy,
	}
	if !i.Open() {
		r.Until, r.ClosedBy, r.EndReason = &i.End, &i.ClosedBy, &i.EndReason
	}
	return r
}

type closeRow struct {
	ID        string    `json:"id"`
	Until     time.Time `json:"until"`
	ClosedBy  string    `json:"closed_by"`
	EndReason string    `json:"end_reason"`
}

func closeOf(i meter.Interval) closeRow { return closeRow{i.ID, i.End, i.ClosedBy, i.EndReason} }

type endRow struct {
	Member   string    `json:"member"`
	Org      string    `json:"org"`
	Instance string    `json:"instance"`
	At       time.Time `json:"at"`
	Item     string    `json:"item"`
	Reason   string    `json:"reason"`
}

func endOf(e meter.End) endRow { return endRow{e.Member, e.Org, e.Instance, e.At, e.Item, e.Reason} }

type refusalRow struct {
	Item   string    `json:"item"`
	Member string    `json:"member"`
	Code   string    `json:"code"`
	Detail string    `json:"detail"`
	At     time.Time `json:"at"`
}

func refusalOf(r meter.Refusal) refusalRow {
	return refusalRow{r.Item, r.Member, string(r.Code), r.Detail, r.At}
}
