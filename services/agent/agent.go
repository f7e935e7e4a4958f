package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent/internal/carve"
	"github.com/weirhq/weir/services/agent/internal/journal"
	"github.com/weirhq/weir/services/agent/internal/link"
)

// Agent is one node's agent. It is run once; a restart is a new one.
type Agent struct {
	cfg    Config
	facts  Facts
	engine *carve.Engine
	book   *carve.Book
	lock   *os.File

	identity atomic.Pointer[link.Identity]
	client   atomic.Pointer[link.Client]
	linked   chan struct{} // closed once there is a client

	statusSeq, reportSeq sequence
	firstReport          chan struct{} // closed once this boot's first full report was answered
	firstOnce            sync.Once
	fullNow              chan struct{} // asks for a full report at once
	tunnelUp             atomic.Bool
	lastAnswer           atomic.Int64 // of any call, on the boot clock
	goingDown            atomic.Bool
	pace                 atomic.Int64 // how often the control plane wants to hear, as it last said; 0: not yet
}

// New opens the node's journal. Nothing happens before Run.
func New(cfg Config) (*Agent, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	facts, err := cfg.Facts.measure(cfg.StateDir)
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(cfg.StateDir)
	if err != nil {
		return nil, err
	}
	book, err := carve.OpenBook(filepath.Join(cfg.StateDir, "journal"), journal.Options{NoSync: cfg.NoSync})
	if err != nil {
		lock.Close()
		return nil, err
	}
	a := &Agent{cfg: cfg, facts: facts, book: book, lock: lock, linked: make(chan struct{}), firstReport: make(chan struct{}), fullNow: make(chan struct{}, 1)}
	a.engine = carve.New(carve.Config{
		Book: book, Driver: cfg.Driver, Runtime: cfg.Runtime, Clock: cfg.Clock, Boot: cfg.BootClock, Log: cfg.Log, Rand: cfg.Rand,
		Crash: cfg.Crash, Free: cfg.DiskFree, Reserve: cfg.MinFreeMiB << 20, Grace: cfg.Grace, Call: 30 * time.Second,
	})
	return a, nil
}

// ErrRunning means that another agent works in the state directory.
var ErrRunning = errors.New("another agent uses this state directory")

func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "agent.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w: %s", ErrRunning, dir)
	}
	return f, nil
}

// Close gives the journal and the state directory back. It is for after Run, or instead of it.
func (a *Agent) Close() error {
	if c := a.client.Load(); c != nil {
		c.Close()
	}
	return errors.Join(a.book.Close(), a.lock.Close())
}

// Run works until ctx ends. Members run on afterwards: the next agent finds them.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.restore(ctx); err != nil {
		return err
	}
	if !a.engine.FirstReportDue() {
		a.firstOnce.Do(func() { close(a.firstReport) })
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	wg.Go(func() { _ = a.engine.Run(ctx) })
	for _, loop := range []func(context.Context) error{a.identityLoop, a.statusLoop, a.reportLoop, a.desiredLoop, a.tunnelLoop} {
		wg.Go(func() {
			if err := loop(ctx); err != nil && ctx.Err() == nil {
				cancel(err) // only what cannot get better by trying again
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// restore waits for cards that cannot be read yet.
func (a *Agent) restore(ctx context.Context) error {
	for try := 0; ; try++ {
		err := a.engine.Restore(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait := a.backoff(try)
		a.cfg.Log.Error("node not ready", "error", err, "wait", wait)
		if err := clock.Sleep(ctx, a.cfg.Clock, wait); err != nil {
			return err
		}
	}
}

// backoff grows from half a second to ten; half of it is jitter, so that a thousand nodes do not come at once.
func (a *Agent) backoff(try int) time.Duration {
	d := min(10*time.Second, 500*time.Millisecond<<min(try, 5))
	return d/2 + time.Duration(a.cfg.Rand()*float64(d/2))
}

// connected waits until this node has an identity.
func (a *Agent) connected(ctx context.Context) (*link.Client, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-a.linked:
		return a.client.Load(), nil
	}
}

// answered notes that the control plane answered.
func (a *Agent) answered() { a.lastAnswer.Store(int64(a.cfg.BootClock())) }

// Wake has every member at work try again and the cards be read at once: something about the node has changed.
func (a *Agent) Wake() { a.engine.Wake() }

// sequence numbers messages of a boot, growing over restarts of the agent too.
type sequence struct {
	mu   sync.Mutex
	last int64
}

func (s *sequence) next(boot time.Duration) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last+1, int64(boot/time.Millisecond))
	return s.last
}
