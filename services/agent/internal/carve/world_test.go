package carve

import (
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent/driver"
	"github.com/weirhq/weir/services/agent/internal/journal"
	"github.com/weirhq/weir/services/agent/runtime"
	"github.com/weirhq/weir/services/agent/runtime/null"
	"github.com/weirhq/weir/services/agent/simgpu"
)

// fataler is what testing.T and rapid.T share.
type fataler interface {
	require.TestingT
	Fatalf(format string, args ...any)
}

// world is a simulated node whose agent can die and come back. Engines here are driven by hand, so that a crash is a
// panic in the test's own goroutine and leaves nobody behind.
type world struct {
	t     fataler
	dir   string
	cards simgpu.Config
	node  *simgpu.Node
	boot  time.Duration
	free  uint64
	gpus  []string
}

func newWorld(t fataler, dir, boards string) *world {
	groups, err := simgpu.ParseNodes(boards)
	require.NoError(t, err)
	w := &world{t: t, dir: dir, boot: time.Hour, free: 1 << 40}
	w.cards = simgpu.Config{Dir: filepath.Join(dir, "sim"), Name: "n1", Clock: clock.Real{}}
	for _, g := range groups {
		w.cards.Boards = append(w.cards.Boards, g.Cards)
	}
	w.node, err = simgpu.Open(w.cards)
	require.NoError(t, err)
	cards, err := w.node.Cards(ctx(t))
	require.NoError(t, err)
	for _, c := range cards {
		w.gpus = append(w.gpus, c.UUID)
	}
	return w
}

// engine is the agent after a start: restored, not running.
func (w *world) engine(crash func(step string)) *Engine {
	rt, err := null.New(filepath.Join(w.dir, "members"), func() time.Duration { return w.boot })
	require.NoError(w.t, err)
	return w.engineWith(crash, rt)
}

func (w *world) engineWith(crash func(step string), rt runtime.Runtime) *Engine {
	book, err := OpenBook(filepath.Join(w.dir, "journal"), journal.Options{NoSync: true})
	require.NoError(w.t, err)
	e := New(Config{
		Book: book, Driver: w.node, Runtime: rt, Clock: clock.Real{}, Boot: func() time.Duration { return w.boot },
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Rand: func() float64 { return 0 }, Crash: crash,
		Free: func() (uint64, error) { return w.free, nil }, Reserve: 64 << 20, Grace: time.Second, Call: time.Minute,
	})
	require.NoError(w.t, e.Restore(ctx(w.t)))
	return e
}

// settle drives every member until all rest.
func settle(t fataler, e *Engine) {
	for _, m := range e.Book.All() {
		require.NoError(t, e.drive(ctx(t), m.ID))
	}
}

func migWant(member, gpu, profile string, start, size int) Want {
	return Want{Member: member, Instance: "ins_" + member, Command: []string{"true"}, LogLimitMiB: 1,
		Seats: []Seat{{ID: "sea_" + member, GPU: gpu, Kind: MIG, Profile: profile, Start: start, Size: size}}}
}

func wholeWant(member string, gpus ...string) Want {
	w := Want{Member: member, Instance: "ins_" + member, LogLimitMiB: 1}
	for _, g := range gpus {
		w.Seats = append(w.Seats, Seat{ID: "sea_" + member + g, GPU: g, Kind: Whole})
	}
	return w
}

func stopped(w Want, cause Cause) Want {
	w.Stop, w.Cause = true, cause
	return w
}

// desired numbers what it is given; every engine here has seen incarnation "i" answered.
type desired struct{ generation int64 }

func (d *desired) apply(t fataler, e *Engine, wants ...Want) {
	d.generation++
	require.True(t, e.Apply(Desired{Incarnation: "i", Generation: d.generation, Members: wants}))
	e.FullReportAnswered("i")
	settle(t, e)
}

func observed(t fataler, e *Engine, id string) Observed {
	for _, o := range e.Observe() {
		if o.ID == id {
			return o
		}
	}
	t.Fatalf("member %s is not observed", id)
	return Observed{}
}

// agree proves that card, journal and report say the same.
func (w *world) agree(e *Engine) {
	held := map[string]string{} // device → member
	for _, o := range e.Observe() {
		m, ok := e.Book.Get(o.ID)
		require.True(w.t, ok)
		require.Equal(w.t, m.State(), o.Reported)
		require.Equal(w.t, m.released(), o.Released)
		if o.Released || m.Phase != PhaseRunning {
			continue
		}
		for _, s := range m.Seats {
			require.NotEmpty(w.t, s.Device)
			held[s.Device] = m.ID
		}
	}
	for _, g := range w.gpus {
		list, err := w.node.Instances(ctx(w.t), g)
		require.NoError(w.t, err)
		for _, i := range list {
			owner, ours := e.owner(g, i)
			require.True(w.t, ours, "slice %v of card %s has no owner in the journal", i, g)
			for _, ci := range i.Compute {
				if _, running := held[ci.UUID]; running {
					require.Equal(w.t, owner, held[ci.UUID])
					delete(held, ci.UUID)
				}
			}
		}
	}
	for device := range held {
		require.Contains(w.t, w.gpus, device, "a running member's slice is not on a card")
	}
}

func (w *world) layout(gpu int) []driver.Instance {
	list, err := w.node.Instances(ctx(w.t), w.gpus[gpu])
	require.NoError(w.t, err)
	return list
}

func start(t *testing.T, boards string) (*world, *Engine, *desired) {
	t.Helper()
	w := newWorld(t, t.TempDir(), boards)
	return w, w.engine(nil), &desired{}
}
