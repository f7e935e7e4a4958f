package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// orgFact is an item of the feed orgs.
type orgFact struct {
	ID          string             `json:"id"`
	Name        string             `json:"name"`
	Currency    string             `json:"currency"`
	TimeZone    string             `json:"time_zone"`
	BillingMode domain.BillingMode `json:"billing_mode"`
	Standing    domain.Standing    `json:"standing"`
	Approved    bool               `json:"approved"`
	Project     string             `json:"default_project"`
	Version     int64              `json:"version"`
	At          string             `json:"at"`
}

// limitsFact is an item of the feed limits. null = unlimited.
type limitsFact struct {
	Org             string `json:"org"`
	GPUeMicro       *int64 `json:"gpue_micro"`
	Instances       *int64 `json:"instances"`
	QueuedInstances *int64 `json:"queued_instances"`
	VCPUsMilli      *int64 `json:"vcpus_milli"`
	RAMMiB          *int64 `json:"ram_mib"`
	Version         int64  `json:"version"`
}

func factOfOrg(o domain.Org, defaultProject string) orgFact {
	return orgFact{
		ID: o.ID, Name: o.Name, Currency: o.Currency, TimeZone: o.TimeZone, BillingMode: o.BillingMode, Standing: o.Standing, Approved: o.Approved, Project: defaultProject,
		Version: o.Version, At: o.UpdatedAt.UTC().Format("2006-01-02T15:04:05.000Z"),
	}
}

func factOfLimits(l domain.Limits) limitsFact {
	return limitsFact{
		Org: l.Org, GPUeMicro: l.GPUeMicro, Instances: l.Instances, QueuedInstances: l.QueuedInstances, VCPUsMilli: l.VCPUsMilli, RAMMiB: l.RAMMiB, Version: l.Version,
	}
}

func (t *tx) publishOrg(o domain.Org, defaultProject string) error {
	return t.publish(domain.FeedOrgs, o.ID, factOfOrg(o, defaultProject))
}

func (t *tx) publishLimits(l domain.Limits) error {
	return t.publish(domain.FeedLimits, l.Org, factOfLimits(l))
}

func (t *tx) publish(feed, org string, fact any) error {
	if !t.publishes {
		t.publishes = true
		t.AfterCommit(t.store.wake)
	}
	return outbox.Put(t.Tx, t.store.clk, feed, org, org, fact)
}

// Feeds are what this service publishes and who may read it.
func (s *Store) Feeds() []outbox.FeedSpec {
	readers := []string{"allocator", "metering"}
	return []outbox.FeedSpec{
		{Name: domain.FeedOrgs, Readers: readers, List: s.listOrgs},
		{Name: domain.FeedLimits, Readers: []string{"allocator"}, List: s.listLimits},
	}
}

func (s *Store) listOrgs(ctx context.Context) ([]outbox.Item, error) {
	type row struct {
		Org            orgRow `gorm:"embedded"`
		DefaultProject string
	}
	return list(ctx, s, `SELECT o.*, p.id AS default_project FROM org o JOIN project p ON p.org = o.id AND p.name = 'default' ORDER BY o.id`,
		domain.FeedOrgs, func(r row) (string, time.Time, any) {
			return r.Org.ID, r.Org.UpdatedAt, factOfOrg(r.Org.domain(), r.DefaultProject)
		})
}

func (s *Store) listLimits(ctx context.Context) ([]outbox.Item, error) {
	return list(ctx, s, `SELECT * FROM org_limits ORDER BY org`, domain.FeedLimits, func(r limitsRow) (string, time.Time, any) {
		return r.Org, r.UpdatedAt, factOfLimits(domain.Limits(r))
	})
}

// list reads the present state of a feed as items.
func list[Row any](ctx context.Context, s *Store, query, feed string, fact func(Row) (org string, at time.Time, data any)) ([]outbox.Item, error) {
	var rows []Row
	err := s.work.InTx(ctx, pg.Scope{ReadOnly: true}, func(tx *pg.Tx) (err error) {
		rows, err = gorm.G[Row](tx.DB).Raw(query).Find(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list feed %s: %w", feed, err)
	}
	items := make([]outbox.Item, len(rows))
	for i, r := range rows {
		org, at, data := fact(r)
		raw, err := json.Marshal(data)
		if err != nil {
			return nil, fmt.Errorf("list feed %s: %w", feed, err)
		}
		items[i] = outbox.Item{Feed: feed, Key: org, Org: org, At: at, Data: raw}
	}
	return items, nil
}
