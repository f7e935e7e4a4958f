package domain

import (
	"sync"
	"time"
)

// MaxGap is how long the server may go without listening before the silence of that time
// says nothing about the nodes.
const MaxGap = 5 * time.Second

// Ear decides since when a node's silence counts: not while the server was down (before it
// started), stalled (no tick for more than 5 s: a paused process, a database that did not
// answer) or deaf (a status arrived and could not be recorded). Each of these gives every
// node a whole time-out from its end, and so does a jump of the wall clock, by which the
// statuses are stamped. Safe for concurrent use.
type Ear struct {
	mu    sync.Mutex
	floor time.Time // silence before this does not count
	tick  time.Time
}

// NewEar returns an ear that listens since now.
func NewEar(now time.Time) *Ear {
	now = wall(now)
	return &Ear{floor: now, tick: now}
}

// Tick says that at now the server listens, and reports for how long it did not if that was
// too long; negative when the clock went back.
func (e *Ear) Tick(now time.Time) (stalled time.Duration) {
	now = wall(now)
	e.mu.Lock()
	defer e.mu.Unlock()
	if gap := now.Sub(e.tick); gap > MaxGap || gap < 0 {
		stalled, e.floor = gap, now
	}
	e.tick = now
	return stalled
}

// Missed says that at now a node spoke and was not heard.
func (e *Ear) Missed(now time.Time) {
	now = wall(now)
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.After(e.floor) {
		e.floor = now
	}
}

// Cutoff returns the instant such that a ready node last seen before it is silent; ok is
// false while nobody can be.
func (e *Ear) Cutoff(now time.Time, timeout time.Duration) (cutoff time.Time, ok bool) {
	cutoff = wall(now).Add(-timeout)
	e.mu.Lock()
	defer e.mu.Unlock()
	return cutoff, !cutoff.Before(e.floor)
}

// wall drops the monotonic reading, which would hide a jump.
func wall(t time.Time) time.Time { return t.Round(0) }
