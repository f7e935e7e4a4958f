// Package reconcile owns the shape of a background loop: level-triggered, so that it looks
// at the present state and makes it right, whatever happened since the last look. It may
// be killed at any line; the next pass finds the rest. A wake-up only shortens the wait.
package reconcile

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/obs"
)

const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// Loop is a worker that runs fn at once, then every so often and whenever woken. After an
// error, which it logs, it tries again sooner or later: from 100 ms, doubling up to 5 s or
// to every, whichever is longer. It ends only with its context. wake may be nil.
func Loop(name string, clk clock.Clock, every time.Duration, wake <-chan struct{}, fn func(ctx context.Context) error) host.Worker {
	return host.Worker{Name: name, Run: func(ctx context.Context) error {
		var failed time.Duration // the present backoff
		for {
			err := fn(ctx)
			if ctx.Err() != nil {
				return nil
			}
			if err == nil {
				failed = 0
				if !wait(ctx, clk, every, wake) {
					return nil
				}
				continue
			}
			failed = next(failed, every)
			obs.Logger(ctx).WarnContext(ctx, "background loop failed; it will try again", "loop", name, "err", err, "in", failed)
			if !wait(ctx, clk, failed, nil) { // wake-ups do not hurry what is broken
				return nil
			}
		}
	}}
}

func next(backoff, every time.Duration) time.Duration {
	if backoff == 0 {
		return firstBackoff + rand.N(firstBackoff/2)
	}
	return min(2*backoff, max(maxBackoff, every))
}

// wait reports whether to go on.
func wait(ctx context.Context, clk clock.Clock, d time.Duration, wake <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-clk.After(d):
	case <-wake:
	}
	return true
}

// Bell wakes a loop. Rings while the loop is at work are one ring.
type Bell struct{ ch chan struct{} }

// NewBell returns a silent bell.
func NewBell() Bell { return Bell{make(chan struct{}, 1)} }

// Ring wakes the listener, now or when it next listens. It never blocks.
func (b Bell) Ring() {
	select {
	case b.ch <- struct{}{}:
	default:
	}
}

// C is where the listener waits.
func (b Bell) C() <-chan struct{} { return b.ch }
