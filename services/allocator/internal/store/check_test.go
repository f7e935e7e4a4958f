package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
)

// A check that finds nothing in a broken database proves nothing.
func TestCheckFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	b := newTables(t)
	s := New(pgtest.Open(t, b.d, Schema, pg.API, 2), b.w)
	codes := func() map[string]int {
		found, err := s.Check(t.Context())
		require.NoError(t, err)
		out := map[string]int{}
		for _, f := range found {
			out[f.Code]++
			require.NotEmpty(t, f.Where)
		}
		return out
	}
	// Two running members that nothing counts, without seats and without meters.
	require.Equal(t, map[string]int{"limit_usage": 2, "node_usage": 1, "member_without_seat": 2, "meter_not_running": 2}, codes())

	for _, statement := range []string{
		`INSERT INTO limit_usage VALUES ('org_a', 1, 1, 0, 1, 1), ('org_b', 1, 1, 0, 1, 1)`,
		`INSERT INTO node_usage VALUES ('n', 2, 9, 9, 2, 9, 9, false)`,
		`UPDATE member SET meter_from = now()`,
	} {
		require.NoError(t, b.do(statement))
	}
	require.NoError(t, b.mig("org_a", "g1", 0, 1))
	require.NoError(t, b.mig("org_b", "g1", 1, 1))
	require.Empty(t, codes())

	require.NoError(t, b.do(`UPDATE instance SET state = 'stopped' WHERE org = 'org_a'`))
	require.NoError(t, b.do(`UPDATE member SET state = 'stopped', ended_at = now(), counted = false, meter_from = NULL, released_at = now() WHERE org = 'org_b'`))
	require.Equal(t, map[string]int{"member_lives_without_instance": 1, "instance_lives_without_member": 1, "seat_without_member": 1, "limit_usage": 1, "node_usage": 1}, codes())
}
