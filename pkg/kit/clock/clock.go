// Package clock owns time. Everything that reads, waits for or schedules by a clock
// takes one of these, so that tests and the business clock can move it. It is the only
// package that may call time.Now.
//
// Two clocks run side by side: real time (leases, heartbeats, tokens, TLS) and business
// time (meters, prices, budgets). They are the same type; Env names them apart.
package clock

import (
	"context"
	"sync"
	"time"
)

// Clock tells the time and waits.
type Clock interface {
	// Now is the current instant, in UTC.
	Now() time.Time
	// After delivers once when d has passed on this clock.
	After(d time.Duration) <-chan time.Time
}

// Sleep waits for d on c or until ctx ends, and returns ctx's error in that case.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.After(d):
		return nil
	}
}

// Real is the machine's clock.
type Real struct{}

// Now returns the machine's time in UTC. It keeps the monotonic reading.
func (Real) Now() time.Time { return time.Now().UTC() }

// After is time.After.
func (Real) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Fake stands still until told to move. Safe for concurrent use.
type Fake struct {
	mu      sync.Mutex
	now     time.Time
	waiters []waiter
	changed chan struct{} // closed and replaced whenever a waiter is added
}

type waiter struct {
	at time.Time
	ch chan time.Time
}

// NewFake returns a clock standing at t.
func NewFake(t time.Time) *Fake { return &Fake{now: t.UTC(), changed: make(chan struct{})} }

// Now is where the clock stands.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// After delivers when Advance or Set has moved the clock by d.
func (f *Fake) After(d time.Duration) <-chan time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan time.Time, 1)
	if d <= 0 {
		ch <- f.now
		return ch
	}
	f.waiters = append(f.waiters, waiter{f.now.Add(d), ch})
	close(f.changed)
	f.changed = make(chan struct{})
	return ch
}

// Advance moves the clock by d and wakes everybody whose instant has come.
func (f *Fake) Advance(d time.Duration) { f.Set(f.Now().Add(d)) }

// Set moves the clock to t; going back wakes nobody.
func (f *Fake) Set(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = t.UTC()
	kept := f.waiters[:0]
	for _, w := range f.waiters {
		if w.at.After(f.now) {
			kept = append(kept, w)
			continue
		}
		w.ch <- f.now
	}
	f.waiters = kept
}

// AwaitWaiters returns once at least n callers wait on the clock: the way a test knows
// that a loop has gone to sleep.
func (f *Fake) AwaitWaiters(ctx context.Context, n int) error {
	for {
		f.mu.Lock()
		have, changed := len(f.waiters), f.changed
		f.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
