package carve

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// crashed is the sentinel of a kill -9.
type crashed struct{}

// dies runs fn and reports whether it was killed.
func dies(fn func()) (killed bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case crashed:
			killed = true
		default:
			panic(r)
		}
	}()
	fn()
	return false
}

// life is a member from the first poll to its release, on a card of its own kind.
type life struct {
	name   string
	boards string
	want   func(w *world) Want
	before func(t *testing.T, w *world)
	failed bool // its preparation fails and is undone
}

func lives() []life {
	return []life{
		{name: "mig", boards: "a100-40gb:1", want: func(w *world) Want { return migWant("m1", w.gpus[0], "3g.20gb", 4, 4) }},
		{name: "mig with mode change", boards: "h100-80gb-sxm5:1", want: func(w *world) Want { return migWant("m1", w.gpus[0], "1g.10gb", 6, 1) }},
		{name: "two whole cards", boards: "h100-80gb-sxm5:2", want: func(w *world) Want { return wholeWant("m1", w.gpus...) }},
		{name: "whole with mode change", boards: "h100-80gb-sxm5:1", want: func(w *world) Want { return wholeWant("m1", w.gpus[0]) },
			before: func(t *testing.T, w *world) { require.NoError(t, w.node.SetMIGMode(t.Context(), w.gpus[0], true)) }},
		{name: "failed cut", boards: "a100-40gb:1", want: func(w *world) Want { return migWant("m1", w.gpus[0], "1g.5gb", 0, 1) },
			before: func(t *testing.T, w *world) { require.NoError(t, w.node.FailNextCreate(0)) }, failed: true},
	}
}

// run takes a member through its life; the engine may die anywhere in it.
func (l life) run(w *world, e *Engine, d *desired) {
	d.apply(w.t, e, l.want(w))
	d.apply(w.t, e, stopped(l.want(w), "user"))
}

// TestKilledAtEveryStep: at every write and act of every life the agent is killed, a new one starts on what is left, and
// card, journal and report agree again, without a second start, and with nothing left on the card at the end.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, l := range lives() {
		var steps []string
		w := newWorld(t, t.TempDir(), l.boards)
		if l.before != nil {
			l.before(t, w)
		}
		l.run(w, w.engine(func(s string) { steps = append(steps, s) }), &desired{})
		require.GreaterOrEqual(t, len(steps), 9, l.name)
		for i := range steps {
			t.Run(fmt.Sprintf("%s/%02d %s", l.name, i, steps[i]), func(t *testing.T) {
				t.Parallel()
				l.killedAt(t, i)
			})
		}
	}
}

func (l life) killedAt(t *testing.T, step int) {
	w := newWorld(t, t.TempDir(), l.boards)
	if l.before != nil {
		l.before(t, w)
	}
	n, d := 0, &desired{}
	e := w.engine(func(string) {
		if n++; n == step+1 {
			panic(crashed{})
		}
	})
	require.True(t, dies(func() { l.run(w, e, d) }), "the step was reached")

	again := w.engine(nil)
	w.agree(again)
	m, known := again.Book.Get("m1")
	if !known || m.Phase.live() {
		d.apply(t, again, l.want(w))
		o := observed(t, again, "m1")
		switch {
		case l.failed && o.Reported == StateFailed:
			require.Equal(t, "insufficient_resources", o.Reason)
		default: // a fault of the card that died with the agent may have spared the next try
			require.Equal(t, StateRunning, o.Reported, "%s: %s", o.Reason, o.Detail)
			require.NotNil(t, o.RunningAge)
		}
	}
	w.agree(again)
	d.apply(t, again, stopped(l.want(w), "user"))
	o := observed(t, again, "m1")
	require.True(t, o.Released)
	require.Contains(t, []State{StateStopped, StateFailed}, o.Reported)
	w.agree(again)
	for i := range w.gpus {
		require.Empty(t, w.layout(i))
	}
	d.apply(t, again, l.want(w))
	require.Equal(t, o.Reported, observed(t, again, "m1").Reported, "a member that ended is never started again")
}

// TestAnyHistoryOfKillsConverges drives a node with random members through random kills and reboots.
func TestAnyHistoryOfKillsConverges(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		w := newWorld(t, fmt.Sprintf("%s/%d", root, run), "a100-40gb:1,h100-80gb-sxm5:1")
		h := &history{world: w, desired: &desired{}, t: t}
		h.revive()
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { w.agree(h.e) },
			"run": func(t *rapid.T) {
				h.wants = append(h.wants, h.draw(t))
				h.poll(t)
			},
			"stop": func(t *rapid.T) {
				if len(h.wants) > 0 {
					i := rapid.IntRange(0, len(h.wants)-1).Draw(t, "stopped")
					h.wants[i] = stopped(h.wants[i], "user")
				}
				h.poll(t)
			},
			"kill":     func(t *rapid.T) { h.revive() },
			"kill in":  func(t *rapid.T) { h.killIn = rapid.IntRange(1, 12).Draw(t, "steps") },
			"fail":     func(t *rapid.T) { _ = w.node.FailNextCreate(rapid.IntRange(0, 1).Draw(t, "card")) },
			"reboot":   func(t *rapid.T) { require.NoError(t, w.node.Reboot()); h.revive() },
			"released": func(t *rapid.T) { h.noTwoOwners() },
		})
	})
}

type history struct {
	*world
	t       *rapid.T
	desired *desired
	e       *Engine
	wants   []Want
	killIn  int
	ended   map[string]State
}

func (h *history) revive() {
	h.killIn = 0
	h.e = h.engine(func(string) {
		if h.killIn > 0 {
			if h.killIn--; h.killIn == 0 {
				panic(crashed{})
			}
		}
	})
}

func (h *history) poll(t *rapid.T) {
	h.boot += 1000
	for dies(func() { h.desired.apply(t, h.e, h.wants...) }) {
		h.revive()
	}
	for _, o := range h.e.Observe() {
		if was, ok := h.ended[o.ID]; ok {
			require.Equal(t, was, o.Reported, "the end of %s is final", o.ID)
		}
		if o.Released {
			if h.ended == nil {
				h.ended = map[string]State{}
			}
			h.ended[o.ID] = o.Reported
		}
	}
}

func (h *history) draw(t *rapid.T) Want {
	id := fmt.Sprintf("m%03d", len(h.wants))
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return wholeWant(id, h.gpus[1])
	case 1:
		return migWant(id, h.gpus[1], "1g.10gb", rapid.IntRange(0, 7).Draw(t, "start"), 1)
	case 2:
		return migWant(id, h.gpus[0], "3g.20gb", rapid.SampledFrom([]int{0, 4}).Draw(t, "start"), 4)
	}
	return migWant(id, h.gpus[0], "1g.5gb", rapid.IntRange(0, 6).Draw(t, "start"), 1)
}

// noTwoOwners: no two members that hold anything hold the same place.
func (h *history) noTwoOwners() {
	var held []Seat
	for _, m := range h.e.Book.All() {
		if m.released() {
			continue
		}
		for _, s := range m.Seats {
			for _, o := range held {
				require.False(h.t, o.conflicts(s), "%v and %v", o, s)
			}
			held = append(held, s)
		}
	}
}
