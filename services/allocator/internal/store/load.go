package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// withMembers is an instance as JSON with its members, their nodes' names, their seats and
// what the agents made of those.
const withMembers = `(to_jsonb(i) - 'env_sealed') || jsonb_build_object('members', coalesce((
	SELECT jsonb_agg(to_jsonb(m) || jsonb_build_object('node_name', coalesce(n.name, ''), 'seats', coalesce((
		SELECT jsonb_agg(to_jsonb(s) || jsonb_build_object('live', to_jsonb(l)) ORDER BY s.id)
		FROM seat s LEFT JOIN seat_live l ON l.seat = s.id WHERE s.member = m.id), '[]'::jsonb)) ORDER BY m.assigned_at, m.ordinal)
	FROM member m LEFT JOIN node_copy n ON n.node = m.node WHERE m.instance = i.id), '[]'::jsonb))`

// Load reads everything the writer keeps in memory. Nobody else writes meanwhile: the
// epoch was bumped before.
func (s *Store) Load(ctx context.Context) (*domain.Image, error) {
	img := &domain.Image{Usage: map[string]domain.Usage{}, Desired: map[string]int64{}}
	err := s.work.InTx(ctx, pg.Scope{ReadOnly: true}, func(tx *pg.Tx) error {
		for _, read := range []func(*pg.Tx, *domain.Image) error{readInstances, readNodes, readMoney, readSessions} {
			if err := read(tx, img); err != nil {
				return err
			}
		}
		if err := scan(tx, []any{&img.Incarnation}, `SELECT incarnation FROM feed_source`); err != nil {
			return fmt.Errorf("read the incarnation: %w", err)
		}
		return scan(tx, []any{&img.Batch}, `SELECT batch FROM writer_mark`)
	})
	if err != nil {
		return nil, fmt.Errorf("load the allocator's state: %w", err)
	}
	return img, nil
}

func readInstances(tx *pg.Tx, img *domain.Image) error {
	img.Instances = nil
	rows, err := list[instanceRow](tx, `SELECT `+withMembers+` FROM instance i
		WHERE i.id IN (SELECT instance FROM member WHERE released_at IS NULL OR ghost) ORDER BY i.id`)
	for _, r := range rows {
		img.Instances = append(img.Instances, fromInstance(r))
	}
	if err != nil {
		return fmt.Errorf("read instances: %w", err)
	}
	usage, err := list[usageRow](tx, `SELECT to_jsonb(u) FROM limit_usage u`)
	for _, r := range usage {
		img.Usage[r.Org] = fromUsage(r)
	}
	return err
}

func readNodes(tx *pg.Tx, img *domain.Image) error {
	img.Nodes, img.Orphans = nil, nil
	docs, err := list[json.RawMessage](tx, `SELECT doc FROM node_copy ORDER BY node`)
	if err != nil {
		return fmt.Errorf("read nodes: %w", err)
	}
	for _, d := range docs {
		n, err := domain.ParseNode(d)
		if err != nil {
			return err
		}
		img.Nodes = append(img.Nodes, n)
	}
	orphans, err := list[orphanRow](tx, `SELECT to_jsonb(o) FROM orphan o WHERE released_at IS NULL ORDER BY id`)
	for _, o := range orphans {
		img.Orphans = append(img.Orphans, fromOrphan(o))
	}
	return err
}

func readMoney(tx *pg.Tx, img *domain.Image) error {
	img.Orgs, img.Limits, img.Prices, img.Offerings = nil, nil, nil, nil
	orgs, err := list[orgRow](tx, `SELECT to_jsonb(o) FROM org_copy o`)
	if err != nil {
		return fmt.Errorf("read orgs: %w", err)
	}
	for _, o := range orgs {
		img.Orgs = append(img.Orgs, fromOrg(o))
	}
	limits, err := list[limitRow](tx, `SELECT to_jsonb(l) FROM limit_copy l`)
	if err != nil {
		return fmt.Errorf("read limits: %w", err)
	}
	for _, l := range limits {
		img.Limits = append(img.Limits, fromLimit(l))
	}
	prices, err := list[priceRow](tx, `SELECT to_jsonb(p) FROM price_copy p`)
	if err != nil {
		return fmt.Errorf("read prices: %w", err)
	}
	for _, p := range prices {
		img.Prices = append(img.Prices, domain.Price{VersionID: p.VersionID, Offering: p.Offering, Currency: p.Currency, PerHour: money.Micro(p.PerHourMicro), EffectiveFrom: p.EffectiveFrom.UTC()})
	}
	offerings, err := list[offeringRow](tx, `SELECT DISTINCT ON (id) to_jsonb(o) FROM offering o ORDER BY id, version DESC`)
	for _, o := range offerings {
		img.Offerings = append(img.Offerings, fromOffering(o))
	}
	return err
}

func readSessions(tx *pg.Tx, img *domain.Image) error {
	img.Sessions = nil
	sessions, err := list[sessionRow](tx, `SELECT to_jsonb(s) || jsonb_build_object('left', (SELECT jsonb_agg(b.boot) FROM node_boot b WHERE b.node = s.node)) FROM node_session s`)
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	for _, r := range sessions {
		left := map[string]bool{}
		for _, b := range r.Left {
			left[b] = true
		}
		img.Sessions = append(img.Sessions, &domain.Session{Node: r.Node, Boot: r.Boot, Seq: r.Seq, ProofAt: r.ProofAt.UTC(), Incarnation: str(r.Incarnation), Left: left})
	}
	desired, err := list[desiredRow](tx, `SELECT to_jsonb(d) FROM node_desired d`)
	for _, d := range desired {
		img.Desired[d.Node] = d.Generation
	}
	return err
}
