package e2e

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/e2e/internal/audit"
	"github.com/weirhq/weir/e2e/internal/rest"
	"github.com/weirhq/weir/e2e/internal/stack"
)

func fault(t *testing.T, s *stack.Stack, node string, body map[string]any) {
	t.Helper()
	admin, err := s.Admin(t.Context())
	require.NoError(t, err)
	r, err := admin.Do(t.Context(), http.MethodPost, "/v1/admin/sim/nodes/"+node+"/faults", body)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, r.Status, "%s", r.Raw)
}

func nodeOf(ins map[string]any) string {
	slices, _ := ins["slices"].([]any)
	if len(slices) == 0 {
		return ""
	}
	m, _ := slices[0].(map[string]any)
	return rest.Str(m, "node_name")
}

// A rebooted node: the seats of the old boot are freed, what ran there is lost, and the
// cards are for rent again without being sold twice.
func TestRebootedNode(t *testing.T) {
	t.Parallel()
	s := start(t, "--sim-nodes", "1xh100-80gb-sxm5:1")
	c := newTenant(t, s, "reboot")
	o := awaitOffering(t, c, "h100-80gb.1g.10gb")
	require.EqualValues(t, 7, o["available"])
	var ids []string
	for range 7 {
		ids = append(ids, rent(t, c, "h100-80gb.1g.10gb", "sleep", "300"))
	}
	var node string
	for _, id := range ids {
		node = nodeOf(awaitState(t, c, id, "running", 20*time.Second))
	}
	fault(t, s, node, map[string]any{"kind": "reboot"})
	for _, id := range ids {
		awaitState(t, c, id, "lost", 30*time.Second)
	}
	again := awaitOffering(t, c, "h100-80gb.7g.80gb")
	require.EqualValues(t, 1, again["available"])
	id := rent(t, c, "h100-80gb.7g.80gb", "sleep", "300")
	awaitState(t, c, id, "running", 20*time.Second)
	requireSound(t, s)
}

// A node cut off for longer than the time-out and healed: the same members run on, and
// the gap is not billed. A stop asked meanwhile is carried out at the end and never undone.
func TestCutOffNode(t *testing.T) {
	t.Parallel()
	s := start(t, "--sim-nodes", "1xh100-80gb-sxm5:1", "--node-timeout", "4s")
	c := newTenant(t, s, "cut")
	awaitOffering(t, c, "h100-80gb.1g.10gb")
	kept := rent(t, c, "h100-80gb.1g.10gb", "sh", "-c", "echo up; exec sleep 3131")
	stopped := rent(t, c, "h100-80gb.1g.10gb", "sleep", "300")
	node := nodeOf(awaitState(t, c, kept, "running", 20*time.Second))
	awaitState(t, c, stopped, "running", 20*time.Second)
	pid := pidOf(t, "sleep\x003131")
	awaitProof(t, s, 2*time.Second)

	fault(t, s, node, map[string]any{"kind": "cut", "direction": "both"})
	awaitState(t, c, kept, "unreachable", 30*time.Second)
	awaitState(t, c, stopped, "unreachable", 5*time.Second)
	r, err := c.Do(t.Context(), http.MethodPost, "/v1/instances/"+stopped+"/stop", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, r.Status, "%s", r.Raw)
	require.Equal(t, "stopping", r.Str("state"), "a silent node keeps the seat until its agent lets go")

	fault(t, s, node, map[string]any{"kind": "heal"})
	awaitState(t, c, kept, "running", 30*time.Second)
	awaitState(t, c, stopped, "stopped", 30*time.Second)
	require.Equal(t, pid, pidOf(t, "sleep\x003131"), "silence restarts nothing")

	events, err := c.All(t.Context(), "/v1/instances/"+stopped+"/events")
	require.NoError(t, err)
	seenStopping := false
	for _, e := range events {
		if e["state"] == "stopping" {
			seenStopping = true
		}
		if seenStopping {
			require.NotEqual(t, "running", e["state"], "after stopping it never shows running again")
		}
	}
	require.True(t, seenStopping)
	requireUnbilledGap(t, s, kept)
	requireSound(t, s)
}

// requireUnbilledGap proves that the member was billed before and after the silence, in
// two intervals, and not in between.
func requireUnbilledGap(t *testing.T, s *stack.Stack, instance string) {
	t.Helper()
	db, err := audit.Open(t.Context(), s.Dir)
	require.NoError(t, err)
	defer db.Close(context.WithoutCancel(t.Context()))
	var intervals, open int
	var gap float64
	require.Eventually(t, func() bool {
		err = db.QueryRow(t.Context(), `
			SELECT count(*), count(*) FILTER (WHERE upper_inf(during)),
				coalesce(extract(epoch FROM max(lower(during)) - min(upper(during))), 0)
			FROM metering.interval WHERE instance = $1`, instance).Scan(&intervals, &open, &gap)
		return err == nil && intervals == 2
	}, 20*time.Second, 100*time.Millisecond, "one interval before the silence and one after it")
	require.Equal(t, 1, open)
	require.Greater(t, gap, 3.0, "the silence is not billed")
}

// awaitProof waits until every running member has been proven to run for that long, so that
// a meter which stops at the last proof has something on it.
func awaitProof(t *testing.T, s *stack.Stack, ran time.Duration) {
	t.Helper()
	db, err := audit.Open(t.Context(), s.Dir)
	require.NoError(t, err)
	defer db.Close(context.WithoutCancel(t.Context()))
	require.Eventually(t, func() bool {
		var unproven int
		err := db.QueryRow(t.Context(), `SELECT count(*) FROM allocator.member m JOIN allocator.node_session n USING (node)
			WHERE m.state = 'running' AND n.proof_at < m.running_at + $1::interval`, ran).Scan(&unproven)
		return err == nil && unproven == 0
	}, 20*time.Second, 50*time.Millisecond, "the members were never proven to run")
}
