package store

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// checks each give (where, detail) of a broken invariant. They look at what is live, by its
// partial indexes, not at history.
var checks = []struct{ code, query string }{
	{"seat_two_owners", `SELECT a.gpu, a.id || ' and ' || b.id FROM seat a JOIN seat b ON a.gpu = b.gpu AND a.id < b.id
		WHERE a.released_at IS NULL AND b.released_at IS NULL AND (a.kind <> b.kind OR a.span && b.span)`},
	{"seat_without_member", `SELECT s.gpu, s.id FROM seat s JOIN member m ON m.id = s.member WHERE s.released_at IS NULL AND m.released_at IS NOT NULL`},
	{"member_without_seat", `SELECT m.id, m.state FROM member m WHERE m.released_at IS NULL AND m.cards > 0
		AND (SELECT count(*) FROM seat s WHERE s.member = m.id AND s.released_at IS NULL) <> m.cards`},
	{"limit_usage", `SELECT coalesce(u.org, l.org), format('stored %s, live %s', u.*, l.*) FROM limit_usage u
		FULL JOIN (SELECT org, sum(gpue_micro)::bigint AS gpue_micro, count(DISTINCT instance) AS instances, sum(vcpus_milli)::bigint AS vcpus_milli, sum(ram_mib)::bigint AS ram_mib
			FROM member WHERE counted GROUP BY org) l ON l.org = u.org
		WHERE (coalesce(u.gpue_micro, 0), coalesce(u.instances, 0), coalesce(u.vcpus_milli, 0), coalesce(u.ram_mib, 0))
			IS DISTINCT FROM (coalesce(l.gpue_micro, 0), coalesce(l.instances, 0), coalesce(l.vcpus_milli, 0), coalesce(l.ram_mib, 0))`},
	{"node_usage", `SELECT coalesce(u.node, l.node), format('stored %s, live %s', u.*, l.*) FROM node_usage u
		FULL JOIN (SELECT node, sum(vcpus_milli)::bigint AS vcpus, sum(ram_mib)::bigint AS ram FROM member WHERE released_at IS NULL GROUP BY node) l ON l.node = u.node
		WHERE (coalesce(u.vcpus_used, 0), coalesce(u.ram_used, 0)) IS DISTINCT FROM (coalesce(l.vcpus, 0), coalesce(l.ram, 0))`},
	{"instance_lives_without_member", `SELECT i.id, i.state FROM instance i WHERE i.state NOT IN ('stopped', 'failed', 'lost')
		AND NOT EXISTS (SELECT 1 FROM member m WHERE m.instance = i.id AND m.ended_at IS NULL)`},
	{"member_lives_without_instance", `SELECT m.id, i.state FROM member m JOIN instance i ON i.id = m.instance
		WHERE m.released_at IS NULL AND m.ended_at IS NULL AND i.state IN ('stopped', 'failed', 'lost')`},
	{"meter_not_running", `SELECT id, state FROM member WHERE released_at IS NULL
		AND (meter_from IS NULL AND state = 'running' OR meter_from IS NOT NULL AND state NOT IN ('running', 'stopping'))`},
}

// Check implements domain.Checker.
func (s *Store) Check(ctx context.Context) ([]domain.Broken, error) {
	var found []domain.Broken
	err := s.work.InTx(ctx, pg.Scope{Serializable: true, ReadOnly: true}, func(tx *pg.Tx) error {
		found = nil
		for _, c := range checks {
			rows, err := tx.Statement.ConnPool.QueryContext(tx.Context(), c.query)
			if err != nil {
				return fmt.Errorf("check %s: %w", c.code, err)
			}
			for rows.Next() {
				b := domain.Broken{Code: c.code}
				if err := rows.Scan(&b.Where, &b.Detail); err != nil {
					rows.Close()
					return fmt.Errorf("check %s: %w", c.code, err)
				}
				found = append(found, b)
			}
			if err := rows.Err(); err != nil {
				return fmt.Errorf("check %s: %w", c.code, err)
			}
			if err := rows.Close(); err != nil {
				return fmt.Errorf("check %s: %w", c.code, err)
			}
		}
		return nil
	})
	return found, err
}
