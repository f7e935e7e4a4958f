package store

import (
	"time"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

type orgRow struct {
	Org         string  `json:"org"`
	Name        string  `json:"name"`
	Currency    string  `json:"currency"`
	TimeZone    string  `json:"time_zone"`
	BillingMode string  `json:"billing_mode"`
	Standing    string  `json:"standing"`
	Approved    bool    `json:"approved"`
	Project     *string `json:"project"`
	Version     int64   `json:"version"`
}

type limitRow struct {
	Org             string `json:"org"`
	GPUeMicro       *int64 `json:"gpue_micro"`
	Instances       *int64 `json:"instances"`
	QueuedInstances *int64 `json:"queued_instances"`
	VCPUsMilli      *int64 `json:"vcpus_milli"`
	RAMMiB          *int64 `json:"ram_mib"`
	Version         int64  `json:"version"`
}

type priceRow struct {
	VersionID     string    `json:"version_id"`
	Offering      string    `json:"offering"`
	Currency      string    `json:"currency"`
	PerHourMicro  int64     `json:"per_hour_micro"`
	EffectiveFrom time.Time `json:"effective_from"`
}

type nodeRow struct {
	Node    string      `json:"node"`
	Name    string      `json:"name"`
	Doc     domain.Node `json:"doc"`
	Version int64       `json:"version"`
}

func fromOrg(r orgRow) domain.Org {
	return domain.Org{ID: r.Org, Name: r.Name, Currency: r.Currency, TimeZone: r.TimeZone, BillingMode: r.BillingMode, Standing: r.Standing,
		Approved: r.Approved, Project: str(r.Project), Version: r.Version}
}

func fromLimit(r limitRow) domain.Limits {
	return domain.Limits{Org: r.Org, GPUeMicro: r.GPUeMicro, Instances: r.Instances, QueuedInstances: r.QueuedInstances, VCPUsMilli: r.VCPUsMilli,
		RAMMiB: r.RAMMiB, Version: r.Version}
}

// Copies writes what peers published, in the transaction of a feed's consumer. A feed is in
// order and a list is the present, so the last word on a key counts, whatever its version.
type Copies struct{}

// lastOf keeps the last row of each key, in order.
func lastOf[T any](rows []T, key func(T) string) []T {
	at := map[string]int{}
	for i, r := range rows {
		at[key(r)] = i
	}
	kept := rows[:0:0]
	for i, r := range rows {
		if at[key(r)] == i {
			kept = append(kept, r)
		}
	}
	return kept
}

// Orgs keeps orgs.
func (Copies) Orgs(tx *pg.Tx, orgs []domain.Org) error {
	var rows []orgRow
	for _, o := range orgs {
		rows = append(rows, orgRow{Org: o.ID, Name: o.Name, Currency: o.Currency, TimeZone: o.TimeZone, BillingMode: o.BillingMode,
			Standing: o.Standing, Approved: o.Approved, Project: opt(o.Project), Version: o.Version})
	}
	return put(tx, "copy orgs", `INSERT INTO org_copy SELECT * FROM jsonb_populate_recordset(NULL::org_copy, $1)
		ON CONFLICT (org) DO UPDATE SET name = EXCLUDED.name, currency = EXCLUDED.currency, time_zone = EXCLUDED.time_zone,
		billing_mode = EXCLUDED.billing_mode, standing = EXCLUDED.standing, approved = EXCLUDED.approved, project = EXCLUDED.project,
		version = EXCLUDED.version`, lastOf(rows, func(r orgRow) string { return r.Org }), false)
}

// Limits keeps limits.
func (Copies) Limits(tx *pg.Tx, limits []domain.Limits) error {
	var rows []limitRow
	for _, l := range limits {
		rows = append(rows, limitRow{Org: l.Org, GPUeMicro: l.GPUeMicro, Instances: l.Instances, QueuedInstances: l.QueuedInstances,
			VCPUsMilli: l.VCPUsMilli, RAMMiB: l.RAMMiB, Version: l.Version})
	}
	return put(tx, "copy limits", `INSERT INTO limit_copy SELECT * FROM jsonb_populate_recordset(NULL::limit_copy, $1)
		ON CONFLICT (org) DO UPDATE SET gpue_micro = EXCLUDED.gpue_micro, instances = EXCLUDED.instances,
		queued_instances = EXCLUDED.queued_instances, vcpus_milli = EXCLUDED.vcpus_milli, ram_mib = EXCLUDED.ram_mib,
		version = EXCLUDED.version`, lastOf(rows, func(r limitRow) string { return r.Org }), false)
}

// Nodes keeps nodes.
func (Copies) Nodes(tx *pg.Tx, nodes []domain.Node) error {
	var rows []nodeRow
	for _, n := range nodes {
		rows = append(rows, nodeRow{Node: n.ID, Name: n.Name, Doc: n, Version: n.Version})
	}
	return put(tx, "copy nodes", `INSERT INTO node_copy SELECT * FROM jsonb_populate_recordset(NULL::node_copy, $1)
		ON CONFLICT (node) DO UPDATE SET name = EXCLUDED.name, doc = EXCLUDED.doc, version = EXCLUDED.version`, lastOf(rows, func(r nodeRow) string { return r.Node }), false)
}

// Prices keeps prices.
func (Copies) Prices(tx *pg.Tx, prices []domain.Price) error {
	var rows []priceRow
	for _, p := range prices {
		rows = append(rows, priceRow{VersionID: p.VersionID, Offering: p.Offering, Currency: p.Currency, PerHourMicro: int64(p.PerHour), EffectiveFrom: p.EffectiveFrom})
	}
	return put(tx, "copy prices", `INSERT INTO price_copy SELECT * FROM jsonb_populate_recordset(NULL::price_copy, $1)
		ON CONFLICT (offering, currency, version_id) DO UPDATE SET per_hour_micro = EXCLUDED.per_hour_micro, effective_from = EXCLUDED.effective_from`,
		lastOf(rows, func(r priceRow) string { return r.Offering + "|" + r.Currency + "|" + r.VersionID }), false)
}
