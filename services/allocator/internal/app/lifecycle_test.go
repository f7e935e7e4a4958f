package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/allocator/internal/app"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// meter is what history bills, from and until in turn.
func (b *bundle) meter(i *domain.Instance) (bounds []time.Duration) {
	b.t.Helper()
	events, err := b.store.Events(b.t.Context(), i.Org, i.ID, 0, 100)
	require.NoError(b.t, err)
	for _, e := range events {
		for _, at := range []*time.Time{e.BillableFrom, e.BillableUntil} {
			if at != nil {
				bounds = append(bounds, at.Sub(i.CreatedAt))
			}
		}
	}
	return bounds
}

// keepUp passes time during which the node reports every five seconds.
func (b *bundle) keepUp(n domain.Node, d time.Duration, members ...domain.Observed) {
	b.t.Helper()
	for ; d > 0; d -= 5 * time.Second {
		b.pass(min(d, 5*time.Second))
		b.report(n, n.BootID, members...)
	}
}

func TestMeterFollowsAges(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	i := b.rent(org, slice)
	b.report(n, n.BootID, saw(i, domain.SeenPreparing))
	require.Equal(t, domain.Preparing, b.get(i).State)
	b.pass(3 * time.Second)
	b.report(n, n.BootID, saw(i, domain.SeenRunning, runningFor(1500*time.Millisecond)))
	b.keepUp(n, 10*time.Second, saw(i, domain.SeenRunning))
	code := 7
	b.report(n, n.BootID, saw(i, domain.SeenFailed, endedAgo(250*time.Millisecond), released, func(o *domain.Observed) { o.ExitCode, o.Reason = &code, "exit_nonzero" }))
	got := b.get(i)
	require.Equal(t, []time.Duration{1500 * time.Millisecond, 12750 * time.Millisecond}, b.meter(i))
	require.Equal(t, []any{domain.Failed, "exit_nonzero", 7}, []any{got.State, got.Reason, *got.ExitCode})
	require.Equal(t, 12750*time.Millisecond, got.StoppedAt.Sub(i.CreatedAt))
}

func TestShortLivedMemberIsBilledInOneStep(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	i := b.rent(org, slice)
	b.pass(4 * time.Second)
	b.report(n, n.BootID, saw(i, domain.SeenStopped, runningFor(time.Hour), endedAgo(time.Second), released))
	require.Equal(t, []time.Duration{0, 3 * time.Second}, b.meter(i), "an age beyond the assignment is cut to it")
	require.Equal(t, "completed", b.get(i).Reason)
}

// Contract 4: a node cut off for longer than 40 s and healed.
func TestSilenceIsNotBilledAndHeals(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	i := b.rent(org, slice)
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	b.keepUp(n, 20*time.Second, saw(i, domain.SeenRunning))
	b.pass(timeout - time.Second)
	require.Equal(t, domain.Running, b.get(i).State)
	b.pass(time.Second)
	require.Equal(t, domain.Unreachable, b.get(i).State)
	require.Equal(t, []time.Duration{0, 20 * time.Second}, b.meter(i), "it ends at the last proof of life")
	require.Zero(t, b.offer(org, slice).Available, "a silent node sells nothing")
	b.pass(time.Minute)
	b.report(n, n.BootID, saw(i, domain.SeenRunning, runningFor(time.Hour)))
	got := b.get(i)
	require.Equal(t, domain.Running, got.State)
	require.Equal(t, i.Members[0].ID, got.Members[0].ID, "the same member")
	require.Equal(t, []time.Duration{0, 20 * time.Second, 2 * time.Minute}, b.meter(i), "the gap is not billed")
	require.Equal(t, 6, b.offer(org, slice).Available)
}

// A partial report tells what changed; the others live on as they were told.
func TestAChangeElsewhereIsASignOfLife(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	first, second := b.rent(org, slice), b.rent(org, slice)
	b.report(n, n.BootID, saw(first, domain.SeenRunning))
	b.pass(2 * time.Second)
	b.seq[n.ID]++
	_, err := b.app.Report(t.Context(), domain.Report{Node: n.ID, Boot: n.BootID, Seq: b.seq[n.ID], Members: []domain.Observed{saw(second, domain.SeenRunning)}})
	require.NoError(t, err)
	b.pass(timeout)
	require.Equal(t, []time.Duration{0, 2 * time.Second}, b.meter(first))

	// A full report that leaves a member out says nothing of it.
	b.report(n, n.BootID, saw(second, domain.SeenRunning))
	require.Equal(t, domain.Unreachable, b.get(first).State)
	require.Equal(t, domain.Running, b.get(second).State)
}

func TestInventorysWordShortensSilence(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	i := b.rent(org, slice)
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	n.State = "not_ready"
	b.setNode(n)
	b.keepUp(n, 20*time.Second, saw(i, domain.SeenRunning))
	require.Equal(t, domain.Running, b.get(i).State, "it still reports: only inventory does not hear it")
	b.pass(11 * time.Second)
	require.Equal(t, domain.Unreachable, b.get(i).State)
}

func TestStopAskedWhileTheNodeIsSilent(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	i := b.rent(org, slice)
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	b.keepUp(n, 10*time.Second, saw(i, domain.SeenRunning))
	b.pass(timeout)
	require.Equal(t, domain.Stopping, b.halt(i).State)
	require.Equal(t, []time.Duration{0, 10 * time.Second}, b.meter(i))
	u, err := b.app.LimitUsage(t.Context(), org)
	require.NoError(t, err)
	require.Zero(t, u, "limits return at the request")
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	require.Equal(t, domain.Stopping, b.get(i).State, "it never runs again")
	require.Equal(t, 6, b.offer(org, slice).Available, "the seat stays")
	b.report(n, n.BootID, saw(i, domain.SeenStopped, released))
	require.Equal(t, domain.Stopped, b.get(i).State)
	require.Equal(t, 7, b.offer(org, slice).Available)
	require.Equal(t, []time.Duration{0, 10 * time.Second}, b.meter(i))
}

// A stop on a node that goes silent before it answers: the meter ended at the request, and
// the limits return once nobody can say how long the node stays away.
func TestNodeGoesSilentWhileStopping(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	i := b.rent(org, slice)
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	b.pass(2 * time.Second)
	b.halt(i)
	b.pass(timeout)
	require.Equal(t, domain.Stopping, b.get(i).State)
	require.Equal(t, []time.Duration{0, 2 * time.Second}, b.meter(i))
	u, err := b.app.LimitUsage(t.Context(), org)
	require.NoError(t, err)
	require.Zero(t, u)
}

func TestStopIsSafeToRepeatAndFinal(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	i := b.rent(org, slice)
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	for range 3 {
		require.Equal(t, domain.Stopping, b.halt(i).State)
	}
	events, err := b.store.Events(t.Context(), org, i.ID, 0, 100)
	require.NoError(t, err)
	require.Len(t, events, 3, "assigned, running, stopping")
	b.report(n, n.BootID, saw(i, domain.SeenStopped, released))
	require.Equal(t, domain.Stopped, b.halt(i).State)
	require.Equal(t, "user", b.get(i).Reason)
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	require.Equal(t, domain.Stopped, b.get(i).State, "an end is final")

	del := func() *domain.Instance {
		out, err := b.app.Stop(t.Context(), app.Target{Org: org, ID: i.ID}, true)
		require.NoError(t, err)
		return out
	}
	at := del().DeletedAt
	require.NotNil(t, at)
	b.pass(time.Second)
	require.Equal(t, at, del().DeletedAt)
	require.Equal(t, at, b.get(i).DeletedAt)
}

func TestDeleteWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	i := b.rent(org, slice)
	out, err := b.app.Stop(t.Context(), app.Target{Org: org, ID: i.ID}, true)
	require.NoError(t, err)
	require.Nil(t, out.DeletedAt)
	b.report(n, n.BootID, saw(i, domain.SeenUnknown, released))
	got := b.get(i)
	require.Equal(t, domain.Stopped, got.State)
	require.NotNil(t, got.DeletedAt)
	list, err := b.app.List(t.Context(), org, domain.InstanceFilter{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, list)
}

// A member that misses its deadline becomes a stop, and keeps its seat until the agent answers.
func TestPreparingDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	i := b.rent(org, slice)
	b.keepUp(n, 5*time.Minute, saw(i, domain.SeenPreparing))
	require.Equal(t, domain.Preparing, b.get(i).State)
	b.keepUp(n, 5*time.Second, saw(i, domain.SeenPreparing))
	d, err := b.app.Desired(t.Context(), n.ID, "", nil, 0)
	require.NoError(t, err)
	require.Equal(t, []any{"stop", domain.ByDeadline}, []any{d.Members[0].Action, d.Members[0].Cause})
	require.Equal(t, 6, b.offer(org, slice).Available)
	b.report(n, n.BootID, saw(i, domain.SeenStopped, released))
	got := b.get(i)
	require.Equal(t, []any{domain.Failed, "preparing_deadline"}, []any{got.State, got.Reason})
	require.Empty(t, b.meter(i), "failure bills nothing")
}

func TestForeignAndUnknownInstancesAreNotThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := b.node("h100-80gb-sxm5", 1)
	i, other := b.rent(b.org(), slice), b.org()
	check := func(id string) {
		_, err := b.app.Get(t.Context(), other, "", id)
		require.Equal(t, domain.NoInstance(), err)
		for _, remove := range []bool{false, true} {
			_, err = b.app.Stop(t.Context(), app.Target{Org: other, ID: id}, remove)
			require.Equal(t, domain.NoInstance(), err)
		}
		_, err = b.app.Events(t.Context(), other, "", id, 0, 10)
		require.Equal(t, domain.NoInstance(), err)
	}
	check(i.ID)
	check("ins_00000000000000000000000000")
	check("nonsense")
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	require.Equal(t, domain.Running, b.get(i).State)
	_, err := b.app.Get(t.Context(), "", "", i.ID)
	require.ErrorIs(t, err, fault.NotFound)
}
