package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/allocator/internal/app"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// Contract 1: the first report of a new boot frees exactly the seats whose boot is set and
// differs.
func TestNewBootFreesExactly(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	ran, asked, unseen := b.rent(org, slice), b.rent(org, slice), b.rent(org, slice)
	b.report(n, n.BootID, saw(ran, domain.SeenRunning), saw(asked, domain.SeenPreparing))
	b.pass(3 * time.Second)
	b.halt(asked)
	b.pass(2 * time.Second)

	_, err := b.app.Report(t.Context(), domain.Report{Node: n.ID, Boot: "boot-2", Seq: 1})
	require.ErrorIs(t, err, fault.Conflict, "the first report of a boot is full")
	b.seq[n.ID] = 0
	ack := b.report(n, "boot-2", saw(ran, domain.SeenGone, released), saw(asked, domain.SeenGone, released))
	require.True(t, ack.NewBootCleared)
	require.ElementsMatch(t, []string{ran.Members[0].ID, asked.Members[0].ID}, ack.Acknowledged)

	got := b.get(ran)
	require.Equal(t, []any{domain.Lost, "node_rebooted"}, []any{got.State, got.Reason})
	require.Equal(t, domain.FreedByNewBoot, got.Members[0].Seats[0].ReleasedBy)
	require.Equal(t, []time.Duration{0, 0}, b.meter(ran), "billed to the last proof of life")
	got = b.get(asked)
	require.Equal(t, []any{domain.Stopped, "user"}, []any{got.State, got.Reason})
	got = b.get(unseen)
	require.Equal(t, domain.Assigned, got.State)
	require.Nil(t, got.Members[0].Seats[0].ReleasedAt, "nobody acknowledged it under the old boot")
	require.Equal(t, 6, b.offer(org, slice).Available)
	b.report(n, "boot-2", saw(unseen, domain.SeenRunning))
	require.Equal(t, "boot-2", b.get(unseen).Members[0].Seats[0].Boot)

	_, err = b.tryReport(n, "boot-1", saw(unseen, domain.SeenGone, released))
	require.ErrorIs(t, err, fault.Conflict, "a replay of the boot that was left")
	require.Equal(t, domain.Running, b.get(unseen).State)
	b.restart()
	_, err = b.tryReport(n, "boot-1")
	require.ErrorIs(t, err, fault.Conflict, "which a new writer knows too")
}

func TestReplayedAndReorderedReports(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	i := b.rent(org, slice)
	send := func(seq int64, s domain.ObservedState, edit ...func(*domain.Observed)) (app.Reported, error) {
		return b.app.Report(t.Context(), domain.Report{Node: n.ID, Boot: n.BootID, Seq: seq, Full: true, Members: []domain.Observed{saw(i, s, edit...)}})
	}
	_, err := send(10, domain.SeenRunning)
	require.NoError(t, err)
	_, err = send(9, domain.SeenPreparing)
	require.ErrorIs(t, err, fault.Conflict)
	for range 3 { // an answer that got lost is asked for again
		ack, err := send(11, domain.SeenStopped, released)
		require.NoError(t, err)
		require.Equal(t, []string{i.Members[0].ID}, ack.Acknowledged)
	}
	_, err = send(10, domain.SeenRunning)
	require.ErrorIs(t, err, fault.Conflict)
	require.Equal(t, domain.Stopped, b.get(i).State)
	events, err := b.store.Events(t.Context(), org, i.ID, 0, 100)
	require.NoError(t, err)
	require.Len(t, events, 3)
}

// The control plane is away while work goes on: what the journal proves is billed.
func TestOutageOfTheControlPlane(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	lives, ended := b.rent(org, slice), b.rent(org, slice)
	b.report(n, n.BootID, saw(lives, domain.SeenRunning), saw(ended, domain.SeenRunning))
	b.stop()
	b.clk.Advance(time.Hour)
	b.start()
	b.pass(30 * time.Second)
	require.Equal(t, domain.Running, b.get(lives).State, "what the server did not hear is nobody's silence")
	b.report(n, n.BootID, saw(lives, domain.SeenRunning), saw(ended, domain.SeenStopped, endedAgo(10*time.Minute), released))
	require.Equal(t, []time.Duration{0}, b.meter(lives))
	require.Equal(t, []time.Duration{0, 50*time.Minute + 30*time.Second}, b.meter(ended))
}

func TestStopBeforeTheNodeIsHeardAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	lives, ended := b.rent(org, slice), b.rent(org, slice)
	b.report(n, n.BootID, saw(lives, domain.SeenRunning), saw(ended, domain.SeenRunning))
	b.stop()
	b.clk.Advance(time.Hour)
	b.start()
	b.halt(lives)
	b.halt(ended)
	require.Equal(t, []time.Duration{0}, b.meter(ended), "it may have ended meanwhile")
	b.pass(2 * time.Second)
	b.report(n, n.BootID, saw(lives, domain.SeenRunning), saw(ended, domain.SeenStopped, endedAgo(10*time.Minute+2*time.Second), released))
	require.Equal(t, []time.Duration{0, time.Hour}, b.meter(lives), "it ran until the request")
	require.Equal(t, []time.Duration{0, 50 * time.Minute}, b.meter(ended))
	require.Equal(t, "completed", b.get(ended).Reason)
}

// A node that died while the control plane was down: nobody proves what it did after the
// last report.
func TestRebootDuringAnOutage(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	i := b.rent(org, slice)
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	b.keepUp(n, 20*time.Second, saw(i, domain.SeenRunning))
	b.pass(3 * time.Second) // the heartbeat writes what was heard
	b.stop()
	b.clk.Advance(time.Hour)
	b.start()
	b.seq[n.ID] = 0
	b.report(n, "boot-2", saw(i, domain.SeenGone, released))
	require.Equal(t, domain.Lost, b.get(i).State)
	require.Equal(t, []time.Duration{0, 20 * time.Second}, b.meter(i))
	require.Equal(t, 7, b.offer(org, slice).Available)
}

// Contract 3: a restored allocator sells nothing on a node until its full report is merged,
// and what it does not know is an orphan that keeps its card.
func TestRestoredAllocatorRecovers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n, org := b.node("h100-80gb-sxm5", 2), b.org()
	known := b.rent(org, slice)
	b.report(n, n.BootID, saw(known, domain.SeenRunning))
	b.stop()
	_, err := admin(t, b.db).ExecContext(t.Context(), `UPDATE allocator.feed_source SET incarnation = 'restored'`)
	require.NoError(t, err)
	b.start()
	require.Zero(t, b.offer(org, slice).Available)
	_, err = b.tryRent(org, slice)
	require.ErrorIs(t, err, fault.NoCapacity)
	d, err := b.app.Desired(t.Context(), n.ID, "", nil, 0)
	require.NoError(t, err)
	require.Equal(t, "restored", d.Incarnation)

	_, err = b.app.Report(t.Context(), domain.Report{Node: n.ID, Boot: n.BootID, Seq: 50})
	require.NoError(t, err)
	require.Zero(t, b.offer(org, slice).Available, "not a full one")
	other := n.GPUs[0]
	if other.ID == known.Members[0].Seats[0].GPU {
		other = n.GPUs[1]
	}
	lost := domain.Observed{Member: "mem_admitted_after_the_backup", State: domain.SeenRunning, Seats: []domain.ObservedSeat{
		{Seat: "sea_x", GPUUUID: other.UUID, Kind: domain.MIG, Profile: "1g.10gb", Start: new(int), Size: new(int)}}}
	b.seq[n.ID] = 100
	b.report(n, n.BootID, saw(known, domain.SeenRunning), lost)
	require.Equal(t, 6, b.offer(org, slice).Available, "one card holds what nobody here admitted")
	s, err := b.app.Snapshot(t.Context())
	require.NoError(t, err)
	require.Len(t, s.Orphans, 1)
	require.Empty(t, s.Violations)
	d, err = b.app.Desired(t.Context(), n.ID, "", nil, 0)
	require.NoError(t, err)
	require.Len(t, d.Members, 1, "an orphan is not told to stop: absence means nothing")

	b.report(n, n.BootID, saw(known, domain.SeenRunning), lost) // again: the same orphan
	b.restart()
	require.Equal(t, 6, b.offer(org, slice).Available, "it is kept")
	lost.State, lost.Released, lost.Cleaning = domain.SeenStopped, true, "gi_destroyed"
	ack := b.report(n, n.BootID, saw(known, domain.SeenRunning), lost)
	require.Equal(t, []string{lost.Member}, ack.Acknowledged)
	require.Equal(t, 13, b.offer(org, slice).Available)
}

func TestOrphanWithoutACardBlocksTheNode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n, org := b.node("h100-80gb-sxm5", 2), b.org()
	b.report(n, n.BootID, domain.Observed{Member: "mem_x", State: domain.SeenRunning})
	require.Zero(t, b.offer(org, slice).Available)
	b.seq[n.ID] = 0
	b.report(n, "boot-2")
	require.Equal(t, 14, b.offer(org, slice).Available, "a new boot read its cards back empty")
}

func TestGoingDownEndsByThePlatform(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	ran, unseen := b.rent(org, slice), b.rent(org, slice)
	b.report(n, n.BootID, saw(ran, domain.SeenRunning))
	b.pass(2 * time.Second)
	require.ErrorIs(t, b.app.GoingDown(t.Context(), n.ID, "boot-0"), fault.Conflict)
	require.NoError(t, b.app.GoingDown(t.Context(), n.ID, n.BootID))
	for _, i := range []*domain.Instance{ran, unseen} {
		got := b.get(i)
		require.Equal(t, []any{domain.Stopped, "platform"}, []any{got.State, got.Reason})
		require.Nil(t, got.Members[0].ReleasedAt)
	}
	require.Equal(t, []time.Duration{0, 2 * time.Second}, b.meter(ran))
	require.Zero(t, b.offer(org, slice).Available, "it sells nothing any more")
	b.restart()
	require.Zero(t, b.offer(org, slice).Available)
	b.seq[n.ID] = 0
	b.report(n, "boot-2")
	require.Equal(t, 7, b.offer(org, slice).Available)
}

func TestFenceIsForSilentNodes(t *testing.T) {
	t.Parallel()
	b := setup(t, frozen)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	i := b.rent(org, slice)
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	operator := app.Target{ID: i.ID, By: domain.Actor{Kind: "operator", ID: "usr_op"}, Reason: "its power is off"}
	_, err := b.app.Fence(t.Context(), operator, newKey("operator"), encode)
	require.ErrorIs(t, err, fault.Conflict)
	b.pass(timeout)
	key := newKey("operator")
	got, err := b.app.Fence(t.Context(), operator, key, encode)
	require.NoError(t, err)
	require.Equal(t, domain.Lost, got.State)
	require.Equal(t, "Given up by an operator: its power is off", got.Detail)
	var r *domain.Replay
	_, err = b.app.Fence(t.Context(), operator, key, encode)
	require.ErrorAs(t, err, &r)
	require.Equal(t, domain.FreedByFence, b.get(i).Members[0].Seats[0].ReleasedBy)
	require.Equal(t, []time.Duration{0, 0}, b.meter(i))

	// It answers after all, and still runs: told to stop, and its card is not sold.
	b.restart()
	d, err := b.app.Desired(t.Context(), n.ID, "", nil, 0)
	require.NoError(t, err)
	require.Equal(t, []any{"stop", domain.ByOperator}, []any{d.Members[0].Action, d.Members[0].Cause})
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	require.Equal(t, domain.Lost, b.get(i).State)
	require.Zero(t, b.offer(org, slice).Available)
	ack := b.report(n, n.BootID, saw(i, domain.SeenStopped, released))
	require.Equal(t, []string{i.Members[0].ID}, ack.Acknowledged)
	require.Equal(t, 7, b.offer(org, slice).Available)
	d, err = b.app.Desired(t.Context(), n.ID, "", nil, 0)
	require.NoError(t, err)
	require.Empty(t, d.Members)
}

func TestSmallerNodeSellsNothingUntilItFits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n, org := b.node("h100-80gb-sxm5", 2), b.org()
	big := int64(100_000)
	i := b.rent(org, slice, func(in *domain.CreateInput) { in.VCPUsMilli = &big })
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	n.VCPUsMilli = 64_000
	b.setNode(n)
	require.Zero(t, b.offer(org, slice).Available)
	var shrunk bool
	require.NoError(t, admin(t, b.db).QueryRowContext(t.Context(), `SELECT shrunk FROM allocator.node_usage WHERE node = $1`, n.ID).Scan(&shrunk))
	require.True(t, shrunk)
	b.restart()
	require.Zero(t, b.offer(org, slice).Available)
	s, err := b.app.Snapshot(t.Context())
	require.NoError(t, err)
	require.Empty(t, s.Violations)
	b.report(n, n.BootID, saw(i, domain.SeenStopped, released))
	require.Equal(t, 14, b.offer(org, slice).Available)
}

// dstackai/dstack#3449: a node is cordoned or retired while somebody rents on it.
func TestCordonRacesWithRenting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	for round := range 100 {
		done := make(chan error, 1)
		go func() { _, err := b.tryRent(org, slice); done <- err }()
		n.Cordoned = true
		if round%2 == 1 {
			n.State = domain.NodeRetired
		}
		b.setNode(n)
		before := <-done
		_, after := b.tryRent(org, slice)
		if n.State == domain.NodeRetired {
			require.ErrorIs(t, after, fault.Invalid, "it is not on offer any more")
		} else {
			require.ErrorIs(t, after, fault.NoCapacity, "nothing is rented on a node that was withdrawn")
		}
		n.Cordoned, n.State = false, domain.NodeReady
		b.setNode(n)
		if before == nil {
			list, err := b.app.List(t.Context(), org, domain.InstanceFilter{Limit: 1})
			require.NoError(t, err)
			b.halt(list[0])
			b.report(n, n.BootID, saw(list[0], domain.SeenStopped, released))
		}
		require.Equal(t, 7, b.offer(org, slice).Available)
	}
}

func TestDesiredWaitsForWhatIsNew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	first, err := b.app.Desired(t.Context(), n.ID, "", nil, 0)
	require.NoError(t, err)
	require.Empty(t, first.Members)
	none, err := b.app.Desired(t.Context(), n.ID, first.Incarnation, &first.Generation, time.Millisecond)
	require.NoError(t, err)
	require.Nil(t, none)

	woken := make(chan *app.Desired, 1)
	go func() {
		d, err := b.app.Desired(t.Context(), n.ID, first.Incarnation, &first.Generation, time.Minute)
		if err != nil {
			t.Error(err)
		}
		woken <- d
	}()
	i := b.rent(org, slice, func(in *domain.CreateInput) {
		in.Command, in.Env, in.Image = []string{"sleep", "1"}, map[string]string{"A": "b"}, "nvidia/cuda:12"
	})
	d := <-woken
	require.Greater(t, d.Generation, first.Generation)
	require.Len(t, d.Members, 1)
	m, seat := d.Members[0], i.Members[0].Seats[0]
	require.Equal(t, "run", m.Action)
	require.Equal(t, []string{"sleep", "1"}, m.Command)
	require.Equal(t, map[string]string{"A": "b"}, m.Env)
	require.Equal(t, "nvidia/cuda:12", m.Image)
	require.Equal(t, []app.DesiredSeat{{Seat: seat.ID, GPUUUID: n.GPUs[0].UUID, Kind: domain.MIG, Profile: "1g.10gb", Start: seat.Start, Size: 1}}, m.Seats)

	b.restart()
	again, err := b.app.Desired(t.Context(), n.ID, "", nil, 0)
	require.NoError(t, err)
	require.Equal(t, d.Members[0].Seats, again.Members[0].Seats)
	require.Equal(t, []any{d.Incarnation, d.Generation}, []any{again.Incarnation, again.Generation}, "a restart changes neither")
}
