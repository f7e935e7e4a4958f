package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// WriterConfig is what an operator may set.
type WriterConfig struct {
	NodeTimeout    time.Duration // how long a node may be silent
	PrepareTimeout time.Duration // how long a member may take to begin
	Address        string        // where the leader is asked
}

// WriterDeps is what the writer works with.
type WriterDeps struct {
	Ledger         domain.Ledger
	Real, Business clock.Clock
	Log            *slog.Logger
	// Committed is told after each batch with feed items.
	Committed func()
}

// Writer is the admission writer of the cell.
type Writer struct {
	cfg  WriterConfig
	deps WriterDeps
	ops  chan *op

	leading atomic.Bool
	epoch   atomic.Int64
	onLead  []func(ctx context.Context, epoch int64) error

	views views // what agents are asked to do, as committed

	// Only the writer's goroutine touches what follows.
	mem       *memory
	listening time.Time // since when the writer hears everybody, on the real clock
	lastTick  time.Time
	lastBeat  time.Time
}

// queueLength bounds what may wait for the writer; beyond it callers are told to retry.
const queueLength = 8192

// most is how many operations one batch takes.
const most = 512

// NewWriter returns a writer that leads nothing yet.
func NewWriter(cfg WriterConfig, deps WriterDeps) *Writer {
	return &Writer{cfg: cfg, deps: deps, ops: make(chan *op, queueLength), views: newViews()}
}

// OnLead adds what runs while this writer leads: the consumers of peers' feeds. Its end
// with an error ends the term.
func (w *Writer) OnLead(fn func(ctx context.Context, epoch int64) error) {
	w.onLead = append(w.onLead, fn)
}

// Leading reports whether this process admits.
func (w *Writer) Leading() bool { return w.leading.Load() }

// op is one thing to decide. plan may run more than once, each time on a memory that shows
// nothing of its earlier runs; an error refuses, and then it must have changed nothing.
type op struct {
	plan func(p *plan) error
	// look asks for no change: it sees committed state only.
	look  func(m *memory)
	done  chan error
	err   error
	tries int
}

// errNotLeading asks the caller to try again: there, or here in a moment.
func errNotLeading() error {
	f := fault.New(fault.Unavailable, "The allocator is changing its leader. Retry in a moment.")
	f.RetryAfter = time.Second
	return f
}

// do queues an operation and waits until what it decided is durable.
func (w *Writer) do(ctx context.Context, fn func(p *plan) error) error {
	return w.enqueue(ctx, &op{plan: fn, done: make(chan error, 1)})
}

// look lets fn see the memory between two batches. fn must copy what it keeps.
func (w *Writer) look(ctx context.Context, fn func(m *memory)) error {
	return w.enqueue(ctx, &op{look: fn, done: make(chan error, 1)})
}

func (w *Writer) enqueue(ctx context.Context, o *op) error {
	if !w.leading.Load() {
		return errNotLeading()
	}
	select {
	case w.ops <- o:
	default:
		f := fault.New(fault.Unavailable, "Too many requests wait for a decision. Retry in a moment.")
		f.RetryAfter = time.Second
		return f
	}
	// A caller that gave up is still decided: its request may be in a commit already.
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for the decision: %w", ctx.Err())
	}
}

// tickEvery is how often silence, deadlines and the heartbeat are looked at.
const tickEvery = time.Second

// batches takes what queued while the last commit ran, again and again.
func (w *Writer) batches(ctx context.Context, epoch int64) error {
	tick := w.deps.Real.After(tickEvery)
	for {
		var batch []*op
		select {
		case <-ctx.Done():
			return nil
		case o := <-w.ops:
			batch = append(batch, o)
		case <-tick:
			batch, tick = append(batch, &op{plan: w.tick, done: make(chan error, 1)}), w.deps.Real.After(tickEvery)
		}
		for len(batch) < most {
			select {
			case o := <-w.ops:
				batch = append(batch, o)
				continue
			default:
			}
			break
		}
		if err := w.process(ctx, epoch, batch); err != nil {
			return err
		}
	}
}

// refuseQueued answers everybody who still waits.
func (w *Writer) refuseQueued(err error) {
	for {
		select {
		case o := <-w.ops:
			o.done <- err
		default:
			return
		}
	}
}
