package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/outbox"
)

// freshenFor bounds how long a report waits for the newest facts.
const freshenFor = time.Second

// Freshener brings feeds to their heads for reports. Reports that come while one is at work
// share the next: each sees what was committed before it came, and the source is asked once.
type Freshener struct {
	Consumers []*outbox.Consumer
	Clock     clock.Clock

	mu      sync.Mutex
	running *round
	next    *round
}

// round is one reading, shared by everybody who came before it began.
type round struct {
	done chan struct{}
	err  error
}

// All applies every feed up to its head.
func (f *Freshener) All(ctx context.Context) error {
	var errs []error
	for _, c := range f.Consumers {
		errs = append(errs, c.Sync(ctx))
	}
	return errors.Join(errs...)
}

// Freshen is All for a report: shared, and given up after a moment.
func (f *Freshener) Freshen(ctx context.Context) error {
	r := f.join(ctx)
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	case <-f.Clock.After(freshenFor):
		return fmt.Errorf("the feeds were not at their heads within %s", freshenFor)
	}
}

// join takes part in the round that begins next.
func (f *Freshener) join(ctx context.Context) *round {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running == nil {
		f.running = &round{done: make(chan struct{})}
		go f.work(context.WithoutCancel(ctx), f.running)
		return f.running
	}
	if f.next == nil {
		f.next = &round{done: make(chan struct{})}
	}
	return f.next
}

// work runs rounds while there are any. They belong to all who wait, so they outlive the
// request that began them, but not for long.
func (f *Freshener) work(ctx context.Context, r *round) {
	for r != nil {
		limited, cancel := context.WithTimeout(ctx, freshenFor)
		r.err = f.All(limited)
		cancel()
		close(r.done)
		f.mu.Lock()
		f.running, f.next = f.next, nil
		r = f.running
		f.mu.Unlock()
	}
}
