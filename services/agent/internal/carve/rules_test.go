package carve

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/services/agent/driver"
)

func TestAbsenceStopsNothing(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "a100-40gb:1")
	d.apply(t, e, migWant("m1", w.gpus[0], "1g.5gb", 0, 1))
	d.apply(t, e)
	require.Equal(t, StateRunning, observed(t, e, "m1").Reported)
	w.agree(e)
}

func TestOlderGenerationIsRefusedAndCounted(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "a100-40gb:1")
	want := migWant("m1", w.gpus[0], "1g.5gb", 0, 1)
	d.apply(t, e, want)
	d.apply(t, e, want)
	require.False(t, e.Apply(Desired{Incarnation: "i", Generation: 1, Members: []Want{stopped(want, "user")}}))
	settle(t, e)
	require.Equal(t, StateRunning, observed(t, e, "m1").Reported)
	require.EqualValues(t, 1, e.Counters()["stale_commands"])

	again := w.engine(nil) // a restart remembers what was applied
	require.False(t, again.Apply(Desired{Incarnation: "i", Generation: 1}))
	require.True(t, again.Apply(Desired{Incarnation: "i", Generation: 2, Members: []Want{want}}))
}

func TestNewIncarnationBrakesOnEveryStopUntilItHasTheFullReport(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "a100-40gb:1")
	want := migWant("m1", w.gpus[0], "1g.5gb", 0, 1)
	d.apply(t, e, want)

	restored := Desired{Incarnation: "restored", Generation: 1, Members: []Want{stopped(want, "user"), stopped(migWant("m2", w.gpus[0], "1g.5gb", 1, 1), "user")}}
	require.True(t, e.Apply(restored), "a lower generation of another incarnation is not stale")
	settle(t, e)
	require.Equal(t, StateRunning, observed(t, e, "m1").Reported)
	require.EqualValues(t, 2, e.Counters()["stops_held"])
	require.Len(t, e.Observe(), 1, "even what it never heard of is not answered for yet")
	e.FullReportAnswered("i")
	settle(t, e)
	require.Equal(t, StateRunning, observed(t, e, "m1").Reported, "the answer must be of that incarnation")
	e.FullReportAnswered("restored")
	settle(t, e)
	require.Equal(t, StateStopped, observed(t, e, "m1").Reported)
	require.Equal(t, StateUnknown, observed(t, e, "m2").Reported)
	require.Zero(t, e.Counters()["stops_held"])
}

func TestInferredStopsAreBraked(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "a100-40gb:3")
	var wants []Want
	for i := range 21 {
		wants = append(wants, migWant(fmt.Sprintf("m%02d", i), w.gpus[i/7], "1g.5gb", i%7, 1))
	}
	d.apply(t, e, wants...)
	var stops []Want
	for i, want := range wants {
		stops = append(stops, stopped(want, []Cause{"silence", "health", "rebalance", "reconcile"}[i%4]))
	}
	running := func() (n int) {
		for _, o := range e.Observe() {
			if o.Reported == StateRunning {
				n++
			}
		}
		return n
	}
	d.apply(t, e, stops...)
	require.Equal(t, 19, running(), "a tenth of 21")
	w.boot += 9 * time.Minute
	e.reapply()
	settle(t, e)
	require.Equal(t, 19, running())
	again := w.engine(nil)
	e = again
	d.apply(t, e, stops...)
	require.Equal(t, 19, running(), "a restart does not loosen the brake")
	w.boot += 2 * time.Minute
	e.reapply()
	settle(t, e)
	require.Equal(t, 18, running(), "a tenth of 19")

	for i := range stops {
		stops[i].Cause = "operator"
	}
	d.apply(t, e, stops...)
	require.Zero(t, running(), "stops that somebody asked for are never capped")
}

func TestAnEndedMemberIsNeverStartedAgain(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "a100-40gb:1")
	want := migWant("m1", w.gpus[0], "1g.5gb", 0, 1)
	d.apply(t, e, want)
	d.apply(t, e, stopped(want, "user"))
	d.apply(t, e, want)
	require.Equal(t, StateStopped, observed(t, e, "m1").Reported)
	require.NoError(t, e.Acknowledge([]string{"m1", "m2"}))
	d.apply(t, e, want)
	require.Empty(t, e.Observe())
	again := w.engine(nil)
	d.apply(t, again, want)
	require.Empty(t, again.Observe(), "not after a restart either")
	require.EqualValues(t, 1, again.Counters()["ended_runs_refused"])
	require.Empty(t, w.layout(0))
}

func TestStopOfAMemberNeverSeen(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "a100-40gb:1")
	want := migWant("m1", w.gpus[0], "1g.5gb", 0, 1)
	d.apply(t, e, stopped(want, "preparing_deadline"))
	o := observed(t, e, "m1")
	require.Equal(t, StateUnknown, o.Reported)
	require.True(t, o.Released)
	require.Equal(t, CleanedNothing, o.Cleaning)
	d.apply(t, e, want)
	require.Equal(t, StateUnknown, observed(t, e, "m1").Reported, "the late run does not start it")
}

// kubernetes/kubernetes#141471: whoever says that A is gone, B is not prepared on A's place while A is here.
func TestASpanHasOneOwner(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "h100-80gb-sxm5:2")
	a := migWant("a", w.gpus[0], "3g.40gb", 4, 4)
	for i, b := range []Want{
		migWant("b0", w.gpus[0], "3g.40gb", 4, 4), migWant("b1", w.gpus[0], "1g.10gb", 6, 1),
		migWant("b2", w.gpus[0], "7g.80gb", 0, 8), wholeWant("b3", w.gpus[0]), wholeWant("b4", w.gpus[1], w.gpus[0]),
	} {
		d.apply(t, e, a, b)
		o := observed(t, e, b.Member)
		require.Equal(t, StateFailed, o.Reported, i)
		require.Equal(t, "span_occupied", o.Reason)
		require.True(t, o.Released)
		require.Equal(t, StateRunning, observed(t, e, "a").Reported)
	}
	w.agree(e)
	d.apply(t, e, stopped(a, "user"))
	d.apply(t, e, migWant("c", w.gpus[0], "1g.10gb", 6, 1))
	require.Equal(t, StateRunning, observed(t, e, "c").Reported)
}

func TestTwoMembersOnOneCard(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "h100-80gb-sxm5:1")
	a, b := migWant("a", w.gpus[0], "4g.40gb", 0, 4), migWant("b", w.gpus[0], "3g.40gb", 4, 4)
	d.apply(t, e, a, b)
	oa, ob := observed(t, e, "a"), observed(t, e, "b")
	require.Equal(t, []State{StateRunning, StateRunning}, []State{oa.Reported, ob.Reported})
	require.NotEqual(t, oa.Seats[0].Device, ob.Seats[0].Device)
	require.Equal(t, 60, ob.Seats[0].SMs)
	require.Equal(t, 40448, ob.Seats[0].MemoryMiB)
	d.apply(t, e, stopped(a, "user"), b)
	require.Equal(t, CleanedGI, observed(t, e, "a").Cleaning)
	require.Len(t, w.layout(0), 1)
	require.Equal(t, ob.Seats[0].Device, w.layout(0)[0].Compute[0].UUID, "b was not touched")
	w.agree(e)
}

// NVIDIA/mig-parted#157: work on one card leaves the others exactly as they were.
func TestWorkOnOneCardLeavesTheOtherAlone(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "a30-24gb:2")
	d.apply(t, e, migWant("old", w.gpus[0], "2g.12gb", 2, 2))
	before := w.layout(0)
	var wants []Want
	for i := range 4 {
		wants = append(wants, migWant(fmt.Sprint("m", i), w.gpus[1], "1g.6gb", i, 1))
	}
	d.apply(t, e, wants...)
	require.Len(t, w.layout(1), 4)
	require.Equal(t, before, w.layout(0))
	for i := range wants {
		wants[i] = stopped(wants[i], "user")
	}
	d.apply(t, e, wants...)
	require.Empty(t, w.layout(1))
	require.Equal(t, before, w.layout(0))
}

// Every plain profile of every board through the engine, 7g.40gb@a100-40gb included (dra-driver-nvidia-gpu#1480).
func TestEveryProfileOfEveryBoardIsPrepared(t *testing.T) {
	t.Parallel()
	for _, b := range mig.Boards() {
		if b.Units == 0 {
			continue
		}
		w, e, d := start(t, b.Key+":1@mig")
		for _, p := range b.Profiles {
			want := migWant("m_"+fmt.Sprint(p.ID), w.gpus[0], p.Name, p.Starts[len(p.Starts)-1], p.Size)
			d.apply(t, e, want)
			o := observed(t, e, want.Member)
			require.Equal(t, StateRunning, o.Reported, "%s on %s: %s", p.Name, b.Key, o.Detail)
			require.Equal(t, p.SMs, o.Seats[0].SMs)
			d.apply(t, e, stopped(want, "user"))
			require.True(t, observed(t, e, want.Member).Released)
		}
	}
}

func TestForeignSlicesQuarantineTheCard(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "a100-40gb:2")
	mine := migWant("mine", w.gpus[0], "1g.5gb", 0, 1)
	d.apply(t, e, mine)
	require.NoError(t, w.node.ForeignMIG(0))
	d.apply(t, e, mine, migWant("m1", w.gpus[0], "1g.5gb", 1, 1), migWant("m2", w.gpus[1], "1g.5gb", 1, 1))
	require.Equal(t, "card_quarantined", observed(t, e, "m1").Reason)
	require.Equal(t, StateRunning, observed(t, e, "m2").Reported, "other cards work on")
	require.Equal(t, StateRunning, observed(t, e, "mine").Reported)
	layout := e.Layout(t.Context(), w.gpus[0])
	require.Len(t, layout, 2)
	require.False(t, layout[0].Foreign)
	require.Equal(t, "mine", layout[0].Member)
	require.True(t, layout[1].Foreign)

	d.apply(t, e, stopped(mine, "user"))
	require.Len(t, w.layout(0), 1, "ours is gone, the foreign one is not touched")
	require.True(t, observed(t, e, "mine").Released)
}

// A foreign slice that takes our very place between the look and the cut is not mistaken for ours.
func TestAForeignSliceOfTheSameSpecIsNotDestroyed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir(), "a100-40gb:1")
	e := w.engine(func(step string) {
		if step == "gi:after-write" {
			_, err := w.node.CreateInstance(t.Context(), w.gpus[0], 19, mig.Placement{Start: 0, Size: 1})
			require.NoError(t, err)
			_, err = w.node.CreateInstance(t.Context(), w.gpus[0], 9, mig.Placement{Start: 4, Size: 4})
			require.NoError(t, err)
		}
	})
	(&desired{}).apply(t, e, migWant("m1", w.gpus[0], "2g.10gb", 0, 2))
	o := observed(t, e, "m1")
	require.Equal(t, "insufficient_resources", o.Reason)
	require.True(t, o.Released)
	require.Len(t, w.layout(0), 2)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "h100-80gb-sxm5:1,a100-40gb:1,t4-16gb:1")
	h100, a100, t4 := w.gpus[0], w.gpus[1], w.gpus[2]
	require.NoError(t, w.node.Opened(t.Context(), h100, "somebody else"))
	for reason, want := range map[string]Want{
		"mode_busy":         migWant("m1", h100, "1g.10gb", 0, 1),
		"mode_mismatch":     wholeWant("m2", a100),
		"gpu_not_found":     wholeWant("m3", "GPU-none"),
		"invalid_placement": migWant("m4", a100, "3g.20gb", 2, 4),
	} {
		d.apply(t, e, want)
		o := observed(t, e, want.Member)
		require.Equal(t, StateFailed, o.Reported, want.Member)
		require.Equal(t, reason, o.Reason)
		require.NotEmpty(t, o.Detail)
		require.True(t, o.Released)
		require.Nil(t, o.RunningAge)
	}
	for i, want := range []Want{migWant("m5", t4, "1g.5gb", 0, 1), {Member: "m6"}, wholeWant("m7", t4, t4)} {
		d.apply(t, e, want)
		require.Equal(t, "invalid_placement", observed(t, e, want.Member).Reason, i)
	}
	d.apply(t, e, wholeWant("../../etc", t4), wholeWant("ok", t4))
	require.EqualValues(t, 1, e.Counters()["malformed_members"])
	require.Equal(t, StateRunning, observed(t, e, "ok").Reported)
	require.NoError(t, w.node.Lose(2))
	_, err := e.Cards(t.Context())
	require.NoError(t, err)
	d.apply(t, e, wholeWant("m8", t4))
	require.Equal(t, "gpu_lost", observed(t, e, "m8").Reason)
}

func TestFullDiskTakesNoNewWork(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "a100-40gb:1")
	running := migWant("m1", w.gpus[0], "1g.5gb", 0, 1)
	d.apply(t, e, running)
	w.free = 63 << 20
	require.True(t, e.LowDisk())
	d.apply(t, e, running, migWant("m2", w.gpus[0], "1g.5gb", 1, 1))
	require.Equal(t, "disk_full", observed(t, e, "m2").Reason)
	require.Equal(t, StateRunning, observed(t, e, "m1").Reported)
	d.apply(t, e, stopped(running, "user"))
	require.True(t, observed(t, e, "m1").Released, "stopping still works")
}

func TestNewBootStartsNothing(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "h100-80gb-sxm5:2")
	require.NoError(t, e.FirstReportAnswered())
	a, b := migWant("a", w.gpus[0], "1g.10gb", 0, 1), wholeWant("b", w.gpus[1])
	done := migWant("done", w.gpus[0], "1g.10gb", 1, 1)
	d.apply(t, e, a, b, done)
	d.apply(t, e, a, b, stopped(done, "user"))
	boot := e.CurrentBoot()

	require.NoError(t, w.node.Reboot())
	e = w.engine(nil)
	require.NotEqual(t, boot, e.CurrentBoot())
	require.True(t, e.FirstReportDue())
	for _, id := range []string{"a", "b"} {
		o := observed(t, e, id)
		require.Equal(t, StateGone, o.Reported)
		require.True(t, o.Released)
		require.Equal(t, CleanedNothing, o.Cleaning)
		require.Nil(t, o.RunningAge)
	}
	require.Equal(t, StateStopped, observed(t, e, "done").Reported, "an end before the boot stays what it was")
	require.Nil(t, observed(t, e, "done").EndedAge, "stamps of another boot say nothing")
	d.apply(t, e, a, b)
	require.Equal(t, StateGone, observed(t, e, "a").Reported)
	require.Empty(t, w.layout(0))

	e = w.engine(nil)
	require.True(t, e.FirstReportDue(), "a crash before the answer does not lose the duty")
	require.NoError(t, e.FirstReportAnswered())
	require.False(t, w.engine(nil).FirstReportDue())
}

func TestADeviceInUseIsTriedAgainAndThenWaitedFor(t *testing.T) {
	t.Parallel()
	w, e, d := start(t, "a100-40gb:1")
	want := migWant("m1", w.gpus[0], "1g.5gb", 0, 1)
	d.apply(t, e, want)
	device := observed(t, e, "m1").Seats[0].Device
	require.NoError(t, w.node.Opened(t.Context(), device, "a stray process"))
	require.True(t, e.Apply(Desired{Incarnation: "i", Generation: 9, Members: []Want{stopped(want, "user")}}))
	require.ErrorIs(t, e.drive(t.Context(), "m1"), driver.ErrInUse)
	o := observed(t, e, "m1")
	require.Equal(t, StateStopped, o.Reported, "its end is known")
	require.False(t, o.Released, "but its seat is not free")
	require.NoError(t, w.node.Closed(t.Context(), device, "a stray process"))
	require.NoError(t, e.drive(t.Context(), "m1"))
	require.True(t, observed(t, e, "m1").Released)
}

func TestAWedgedCardFailsTheMemberNotTheAgent(t *testing.T) {
	t.Parallel()
	w, e, _ := start(t, "a100-40gb:2")
	e.Call = 20 * time.Millisecond
	w.node.Wedge()
	want := migWant("m1", w.gpus[0], "1g.5gb", 0, 1)
	require.True(t, e.Apply(Desired{Incarnation: "i", Generation: 1, Members: []Want{want}}))
	require.NoError(t, e.drive(t.Context(), "m1"), "nothing was begun, so nothing is to be undone")
	require.Equal(t, "gpu_timeout", observed(t, e, "m1").Reason)
	require.NoError(t, w.node.Heal())
	w.agree(e)
}

func TestCommandsAreNotKeptAndARestoredMemberWaitsForThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir(), "a100-40gb:1")
	e := w.engine(func(s string) {
		if s == "start:after-write" {
			panic(crashed{})
		}
	})
	d := &desired{}
	want := migWant("m1", w.gpus[0], "1g.5gb", 0, 1)
	require.True(t, dies(func() { d.apply(t, e, want) }))
	e = w.engine(nil)
	settle(t, e)
	require.Equal(t, StatePreparing, observed(t, e, "m1").Reported)
	d.apply(t, e, want)
	require.Equal(t, StateRunning, observed(t, e, "m1").Reported)
	require.Empty(t, e.wants, "the command and its secrets are forgotten once it runs")
}

func TestRunWorksOnManyCardsAtOnce(t *testing.T) {
	t.Parallel()
	w, e, _ := start(t, "h100-80gb-sxm5:8")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	var wants []Want
	for i := range 56 {
		wants = append(wants, migWant(fmt.Sprintf("m%02d", i), w.gpus[i/7], "1g.10gb", i%7, 1))
	}
	w.node.Slow(2 * time.Millisecond)
	require.True(t, e.Apply(Desired{Incarnation: "i", Generation: 1, Members: wants}))
	all := func(s State, released bool) func() bool {
		return func() bool {
			for _, o := range e.Observe() {
				if o.Reported != s || o.Released != released {
					return false
				}
			}
			return true
		}
	}
	require.Eventually(t, all(StateRunning, false), 20*time.Second, 5*time.Millisecond)
	w.agree(e)
	for i := range wants {
		wants[i] = stopped(wants[i], "user")
	}
	e.FullReportAnswered("i")
	require.True(t, e.Apply(Desired{Incarnation: "i", Generation: 2, Members: wants}))
	require.Eventually(t, all(StateStopped, true), 20*time.Second, 5*time.Millisecond)
	for i := range w.gpus {
		require.Empty(t, w.layout(i))
	}
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}
