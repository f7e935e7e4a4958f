package store

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
)

// The database refuses by itself, whatever the writer believes.

type tables struct {
	t *testing.T
	d pg.Database
	w *pg.DB
	n int
}

func newTables(t *testing.T) *tables {
	d := pgtest.New(t, Schema)
	b := &tables{t: t, d: d, w: pgtest.Open(t, d, Schema, pg.Work, 4)}
	require.NoError(t, b.do(`INSERT INTO offering VALUES ('o', 1, 'local', 'm', 'whole', NULL, 1000000, 1, 1, 1, 0, 0, now())`))
	for _, org := range []string{"org_a", "org_b"} {
		require.NoError(t, b.do(fmt.Sprintf(`INSERT INTO instance (id, org, name, state, offering, offering_version, kind, count, nodes, vcpus_milli, ram_mib, labels,
			price_version, per_hour_micro, currency, term, created_by_kind, created_by, created_at)
			VALUES ('ins_%[1]s', '%[1]s', 'x', 'running', 'o', 1, 'whole', 1, 1, 0, 0, '{}', 'p', 1, 'CNY', 'on_demand', 'user', 'u', now())`, org)))
		require.NoError(t, b.do(fmt.Sprintf(`INSERT INTO member (id, org, instance, ordinal, node, state, offering, offering_version, cards, gpue_micro, vcpus_milli,
			ram_mib, price_version, per_hour_micro, currency, assigned_at, prepare_by, counted)
			VALUES ('mem_%[1]s', '%[1]s', 'ins_%[1]s', 0, 'n', 'running', 'o', 1, 1, 1, 1, 1, 'p', 1, 'CNY', now(), now(), true)`, org)))
	}
	return b
}

// do runs one statement on the work role.
func (b *tables) do(statement string, args ...any) error {
	return b.w.InTx(b.t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		_, err := exec(tx, statement, args...)
		return err
	})
}

func (b *tables) whole(org, gpu string) error {
	b.n++
	return b.do(`INSERT INTO seat (id, org, member, gpu, kind, span, share, memory_mib, assigned_at)
		VALUES ($1, $2, $3, $4, 'whole', '(,)', 1000, 1, now())`, fmt.Sprint("sea_", b.n), org, "mem_"+org, gpu)
}

func (b *tables) mig(org, gpu string, start, size int) error {
	b.n++
	return b.do(`INSERT INTO seat (id, org, member, gpu, kind, span, profile, start, size, share, memory_mib, assigned_at)
		VALUES ($1, $2, $3, $4, 'mig', int4range($5::int, $6::int), 'p', $5, $7, 1000, 1, now())`, fmt.Sprint("sea_", b.n), org, "mem_"+org, gpu, start, start+size, size)
}

func (b *tables) shared(org, gpu string, share, memory int, cross bool) error {
	b.n++
	return b.do(`INSERT INTO seat (id, org, member, gpu, kind, share, memory_mib, cross_org, assigned_at)
		VALUES ($1, $2, $3, $4, 'shared', $5, $6, $7, now())`, fmt.Sprint("sea_", b.n), org, "mem_"+org, gpu, share, memory, cross)
}

func (b *tables) refused(constraint string, err error) {
	b.t.Helper()
	require.Error(b.t, err)
	require.Equal(b.t, constraint, pg.Constraint(err), "%v", err)
}

func (b *tables) free(seat string) error {
	return b.do(`UPDATE seat SET released_at = now(), cleaning = 'none', released_by = 'agent' WHERE id = $1`, seat)
}

func TestSpansNeverOverlap(t *testing.T) {
	t.Parallel()
	b := newTables(t)
	require.NoError(t, b.mig("org_a", "g1", 0, 4))
	require.NoError(t, b.mig("org_b", "g1", 4, 2), "two orgs may be neighbours behind the wall of MIG")
	b.refused("seat_overlap", b.mig("org_a", "g1", 3, 1))
	b.refused("seat_overlap", b.mig("org_a", "g1", 0, 8))
	b.refused("seat_overlap", b.mig("org_b", "g1", 5, 1))
	require.NoError(t, b.mig("org_a", "g1", 6, 1))
	require.NoError(t, b.mig("org_a", "g2", 0, 8))
	require.NoError(t, b.free("sea_1"))
	require.NoError(t, b.mig("org_b", "g1", 3, 1), "what was released is free")
}

func TestWholeExcludesEverything(t *testing.T) {
	t.Parallel()
	b := newTables(t)
	require.NoError(t, b.whole("org_a", "g1"))
	b.refused("seat_overlap", b.whole("org_b", "g1"))
	require.Contains(t, []string{"seat_overlap", "seat_one_kind"}, pg.Constraint(b.mig("org_b", "g1", 7, 1)))
	b.refused("seat_one_kind", b.shared("org_b", "g1", 100, 1, false))
	require.NoError(t, b.mig("org_a", "g2", 0, 1))
	require.Contains(t, []string{"seat_overlap", "seat_one_kind"}, pg.Constraint(b.whole("org_a", "g2")))
	require.NoError(t, b.do(`INSERT INTO card_usage (gpu, memory_capacity) VALUES ('g2', 100)`))
	b.refused("seat_one_kind", b.shared("org_a", "g2", 100, 1, false))
}

func TestSharesOfACard(t *testing.T) {
	t.Parallel()
	b := newTables(t)
	b.refused("card_usage_known", b.shared("org_a", "g0", 100, 1, false))
	require.NoError(t, b.do(`INSERT INTO card_usage (gpu, memory_capacity) VALUES ('g1', 100), ('g2', 100)`))
	require.NoError(t, b.shared("org_a", "g1", 600, 40, false))
	first := fmt.Sprint("sea_", b.n)
	require.NoError(t, b.shared("org_a", "g1", 400, 40, false))
	b.refused("card_usage_share", b.shared("org_a", "g1", 1, 1, false))
	b.refused("seat_shared_one_org", b.shared("org_b", "g1", 1, 1, false))
	b.refused("seat_shared_one_rule", b.shared("org_a", "g1", 1, 1, true))
	require.NoError(t, b.free(first))
	b.refused("card_usage_memory", b.shared("org_a", "g1", 100, 61, false))
	require.NoError(t, b.shared("org_a", "g1", 100, 60, false))

	require.NoError(t, b.shared("org_a", "g2", 100, 1, true))
	require.NoError(t, b.shared("org_b", "g2", 100, 1, true), "two orgs, where both allow it in words")
	b.refused("seat_shared_one_rule", b.shared("org_b", "g2", 100, 1, false))
}

func TestSeatsAreImmutable(t *testing.T) {
	t.Parallel()
	b := newTables(t)
	require.NoError(t, b.mig("org_a", "g1", 0, 1))
	for _, change := range []string{`gpu = 'g2'`, `start = 1, span = '[1,2)'`, `member = 'mem_org_b', org = 'org_b'`, `share = 1`, `id = 'sea_x'`, `assigned_at = now() - interval '1 day'`} {
		b.refused("seat_immutable", b.do(`UPDATE seat SET `+change+` WHERE id = 'sea_1'`))
	}
	b.refused("seat_immutable", b.do(`DELETE FROM seat`))
	require.NoError(t, b.do(`UPDATE seat SET boot = 'b1' WHERE id = 'sea_1'`))
	b.refused("seat_immutable", b.do(`UPDATE seat SET boot = 'b2' WHERE id = 'sea_1'`))
	b.refused("seat_immutable", b.do(`UPDATE seat SET boot = NULL WHERE id = 'sea_1'`))
	b.refused("seat_release", b.do(`UPDATE seat SET released_at = now() WHERE id = 'sea_1'`))
	require.NoError(t, b.free("sea_1"))
	b.refused("seat_immutable", b.do(`UPDATE seat SET released_at = NULL, cleaning = NULL, released_by = NULL WHERE id = 'sea_1'`))
	b.refused("seat_immutable", b.do(`UPDATE seat SET cleaning = 'gpu_reset' WHERE id = 'sea_1'`))
	b.refused("seat_pkey", b.do(`INSERT INTO seat (id, org, member, gpu, kind, span, share, memory_mib, assigned_at)
		VALUES ('sea_1', 'org_a', 'mem_org_a', 'g9', 'whole', '(,)', 1000, 1, now())`))
}

func TestSeatShapes(t *testing.T) {
	t.Parallel()
	b := newTables(t)
	row := func(values string) error {
		b.n++
		return b.do(fmt.Sprintf(`INSERT INTO seat (id, org, member, gpu, kind, span, profile, start, size, share, memory_mib, assigned_at) VALUES ('s%d', 'org_a', 'mem_org_a', 'g%d', %s, now())`, b.n, b.n, values))
	}
	b.refused("seat_whole", row(`'whole', '[0,8)', NULL, NULL, NULL, 1000, 1`))
	b.refused("seat_mig", row(`'mig', '[0,2)', 'p', 0, 1, 1000, 1`))
	require.Error(t, row(`'mig', NULL, 'p', 0, 1, 1000, 1`))
	require.Error(t, row(`'mig', '[0,1)', NULL, 0, 1, 1000, 1`))
	b.refused("seat_shared", row(`'shared', '[0,1)', NULL, NULL, NULL, 10, 1`))
	b.refused("seat_kind", row(`'other', '[0,1)', NULL, NULL, NULL, 10, 1`))
	b.refused("seat_share", row(`'whole', '(,)', NULL, NULL, NULL, 0, 1`))
	b.refused("seat_member", b.do(`INSERT INTO seat (id, org, member, gpu, kind, span, share, memory_mib, assigned_at)
		VALUES ('sx', 'org_b', 'mem_org_a', 'gx', 'whole', '(,)', 1000, 1, now())`)) // another org's member
}

func TestMemberEndsAreFinal(t *testing.T) {
	t.Parallel()
	b := newTables(t)
	b.refused("member_end", b.do(`UPDATE member SET state = 'stopped', counted = false WHERE id = 'mem_org_a'`))
	b.refused("member_ended", b.do(`UPDATE member SET state = 'stopped', ended_at = now() WHERE id = 'mem_org_a'`))
	require.NoError(t, b.do(`UPDATE member SET state = 'stopped', ended_at = now(), counted = false WHERE id = 'mem_org_a'`))
	b.refused("member_end_final", b.do(`UPDATE member SET state = 'running', ended_at = NULL WHERE id = 'mem_org_a'`))
	b.refused("member_end_final", b.do(`UPDATE member SET state = 'lost' WHERE id = 'mem_org_a'`))
	b.refused("member_admission_fixed", b.do(`UPDATE member SET per_hour_micro = 2 WHERE id = 'mem_org_b'`))
	b.refused("member_released", b.do(`UPDATE member SET released_at = now() WHERE id = 'mem_org_b'`))
	b.refused("member_instance", b.do(`INSERT INTO member (id, org, instance, ordinal, node, state, offering, offering_version, cards, gpue_micro, vcpus_milli,
		ram_mib, price_version, per_hour_micro, currency, assigned_at, prepare_by, counted)
		VALUES ('mx', 'org_b', 'ins_org_a', 0, 'n', 'running', 'o', 1, 1, 1, 1, 1, 'p', 1, 'CNY', now(), now(), true)`))
	b.refused("offering_immutable", b.do(`UPDATE offering SET gpue_micro = 1`))
}

func TestNodesAndLimitsAreGuarded(t *testing.T) {
	t.Parallel()
	b := newTables(t)
	node := func(used, reported, capacity int, shrunk bool) error {
		return b.do(`INSERT INTO node_usage VALUES ('n', $1, $2, $3, 0, 0, 0, $4)
			ON CONFLICT (node) DO UPDATE SET vcpus_used = EXCLUDED.vcpus_used, vcpus_reported = EXCLUDED.vcpus_reported, vcpus_capacity = EXCLUDED.vcpus_capacity, shrunk = EXCLUDED.shrunk`, used, reported, capacity, shrunk)
	}
	require.NoError(t, node(4, 8, 8, false))
	b.refused("node_usage_vcpus", b.do(`UPDATE node_usage SET vcpus_used = 9, shrunk = true`))
	b.refused("node_usage_capacity", node(4, 8, 7, false))
	b.refused("node_usage_shrunk", node(8, 4, 8, false))
	require.NoError(t, node(8, 4, 8, true), "a node that came back smaller keeps what sits on it")
	b.refused("limit_usage_positive", b.do(`INSERT INTO limit_usage (org, instances) VALUES ('org_a', -1)`))
}
