package carve

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent/driver"
	"github.com/weirhq/weir/services/agent/runtime"
)

// Config is what an engine works with.
type Config struct {
	Book    *Book
	Driver  driver.Driver
	Runtime runtime.Runtime
	Clock   clock.Clock
	Boot    func() time.Duration // the boot clock
	Log     *slog.Logger
	Rand    func() float64         // jitter, in [0, 1)
	Crash   func(step string)      // called around every write and act; tests die in it
	Free    func() (uint64, error) // bytes left where the journal lives
	Reserve uint64                 // bytes kept for the journal: below, no new work
	Grace   time.Duration          // between TERM and KILL
	Call    time.Duration          // the longest one driver call may take
}

// Engine drives the members of a node.
type Engine struct {
	Config

	locks cardLocks

	admit sync.Mutex // one acceptance at a time: the check for conflicts and the record are one step
	apply sync.Mutex // one desired state at a time; guards latest and braked
	// latest is the desired state last taken; its held stops are looked at again and again.
	latest *Desired
	// braked is the incarnation whose stops wait for the answer to a full report.
	braked string

	mu       sync.Mutex
	ctx      context.Context // of Run; nil before
	running  sync.WaitGroup
	jobs     map[string]*job
	wants    map[string]Want  // what to run, for members that have not started
	stops    map[string]Cause // stops let through
	held     map[string]bool  // stops held by the brake
	boot     string
	cards    map[string]driver.Card
	layouts  map[string][]LayoutEntry
	version  uint64
	versions map[string]uint64 // of each member's last change
	counters map[string]int64
	changed  chan struct{}
	relaid   chan struct{}
}

// job is a member at work.
type job struct {
	again bool          // looked at once more before it rests
	wake  chan struct{} // cuts a wait short
}

// New returns an engine at rest: Restore, then Run.
func New(cfg Config) *Engine {
	if cfg.Crash == nil {
		cfg.Crash = func(string) {}
	}
	return &Engine{
		Config: cfg, locks: cardLocks{byGPU: map[string]chan struct{}{}},
		jobs: map[string]*job{}, wants: map[string]Want{}, stops: map[string]Cause{}, held: map[string]bool{},
		cards: map[string]driver.Card{}, layouts: map[string][]LayoutEntry{},
		versions: map[string]uint64{}, counters: map[string]int64{}, changed: make(chan struct{}, 1), relaid: make(chan struct{}, 1),
	}
}

// Run works on every member until ctx ends. Members keep running when it returns.
func (e *Engine) Run(ctx context.Context) error {
	e.mu.Lock()
	e.ctx = ctx
	e.mu.Unlock()
	for _, m := range e.Book.All() {
		e.kick(m.ID)
	}
	for ctx.Err() == nil {
		e.reapply()
		_ = clock.Sleep(ctx, e.Clock, 15*time.Second)
	}
	e.running.Wait()
	return ctx.Err()
}

// kick has somebody look at a member.
func (e *Engine) kick(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx == nil || e.ctx.Err() != nil {
		return
	}
	if j := e.jobs[id]; j != nil {
		j.again = true
		signal(j.wake)
		return
	}
	j := &job{wake: make(chan struct{}, 1)}
	e.jobs[id] = j
	ctx := e.ctx
	e.running.Go(func() { e.work(ctx, id, j) })
}

// Wake has everybody at work try again at once, and the cards be shown anew.
func (e *Engine) Wake() {
	signal(e.relaid)
	for _, m := range e.Book.All() {
		e.kick(m.ID)
	}
}

// work drives one member until it rests.
func (e *Engine) work(ctx context.Context, id string, j *job) {
	for try := 0; ; try++ {
		err := e.drive(ctx, id)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			wait := e.backoff(try)
			e.Log.Warn("member waits for another try", "member", id, "error", err, "wait", wait)
			select {
			case <-ctx.Done():
				return
			case <-j.wake:
			case <-e.Clock.After(wait):
			}
			continue
		}
		e.mu.Lock()
		if !j.again {
			delete(e.jobs, id)
			e.mu.Unlock()
			return
		}
		j.again, try = false, -1
		e.mu.Unlock()
	}
}

// backoff grows from a quarter of a second to ten, with jitter.
func (e *Engine) backoff(try int) time.Duration {
	d := min(10*time.Second, 250*time.Millisecond<<min(try, 8))
	return d/2 + time.Duration(float64(d/2)*e.Rand())
}

// note marks a member as changed.
func (e *Engine) note(id string) {
	e.mu.Lock()
	e.version++
	e.versions[id] = e.version
	e.mu.Unlock()
	signal(e.changed)
	signal(e.relaid)
}

// signal is there to be seen once, however often it was given.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Changed delivers after members changed, for whoever reports them.
func (e *Engine) Changed() <-chan struct{} { return e.changed }

// LayoutChanged delivers after cards may have changed, for whoever shows them.
func (e *Engine) LayoutChanged() <-chan struct{} { return e.relaid }

func (e *Engine) count(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counters[name]++
}

// Counters is what was refused and held since the start.
func (e *Engine) Counters() map[string]int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make(map[string]int64, len(e.counters)+1)
	out["stops_held"] = int64(len(e.held))
	for k, v := range e.counters {
		out[k] = v
	}
	return out
}

// LowDisk reports whether new work would endanger the journal.
func (e *Engine) LowDisk() bool {
	if e.Free == nil {
		return false
	}
	free, err := e.Free()
	return err == nil && free < e.Reserve
}
