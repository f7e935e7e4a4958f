package carve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/services/agent/driver"
)

const inUseTries = 3

// cardLocks make acts on one card serial.
type cardLocks struct {
	mu    sync.Mutex
	byGPU map[string]chan struct{}
}

func (l *cardLocks) of(gpu string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.byGPU[gpu]
	if c == nil {
		c = make(chan struct{}, 1)
		l.byGPU[gpu] = c
	}
	return c
}

// lock takes the cards of some seats, in one order for everybody.
func (l *cardLocks) lock(ctx context.Context, seats []Seat) (func(), error) {
	var gpus []string
	for _, s := range seats {
		gpus = append(gpus, s.GPU)
	}
	slices.Sort(gpus)
	gpus = slices.Compact(gpus)
	var held []chan struct{}
	unlock := func() {
		for _, c := range held {
			<-c
		}
	}
	for _, g := range gpus {
		c := l.of(g)
		select {
		case c <- struct{}{}:
			held = append(held, c)
		case <-ctx.Done():
			unlock()
			return nil, ctx.Err()
		}
	}
	return unlock, nil
}

// tryLock takes one card if it is idle.
func (l *cardLocks) tryLock(gpu string) (func(), bool) {
	c := l.of(gpu)
	select {
	case c <- struct{}{}:
		return func() { <-c }, true
	default:
		return nil, false
	}
}

// errTimeout is a driver call that did not come back.
var errTimeout = errors.New("the card does not answer")

// call runs one driver call under its deadline.
func (e *Engine) call(ctx context.Context, fn func(ctx context.Context) error) error {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	expired := e.Clock.After(e.Call)
	go func() {
		select {
		case <-done:
		case <-expired:
			cancel(errTimeout)
		}
	}()
	err := fn(within)
	if err != nil && errors.Is(context.Cause(within), errTimeout) {
		return errTimeout
	}
	return err
}

// insist repeats a call that meets ErrInUse, three times in all.
func (e *Engine) insist(ctx context.Context, fn func(ctx context.Context) error) error {
	for try := 1; ; try++ {
		err := e.call(ctx, fn)
		if !errors.Is(err, driver.ErrInUse) || try == inUseTries {
			return err
		}
		wait := 100 * time.Millisecond << try
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-e.Clock.After(wait/2 + time.Duration(float64(wait/2)*e.Rand())):
		}
	}
}

// instances reads what is on a card.
func (e *Engine) instances(ctx context.Context, gpu string) ([]driver.Instance, error) {
	var list []driver.Instance
	err := e.call(ctx, func(ctx context.Context) error {
		var err error
		list, err = e.Driver.Instances(ctx, gpu)
		return err
	})
	return list, err
}

// own finds a seat's slice on its card by spec, for ids are reused and UUIDs may be.
func own(list []driver.Instance, s Seat) (driver.Instance, bool) {
	if !s.Cut {
		return driver.Instance{}, false
	}
	for _, i := range list {
		if i.Placement == s.placement() && i.Profile == s.Profile && (s.GI == nil || *s.GI == i.ID) {
			return i, true
		}
	}
	return driver.Instance{}, false
}

// owner is the member of this boot that an instance on a card belongs to.
func (e *Engine) owner(gpu string, i driver.Instance) (string, bool) {
	for _, m := range e.Book.All() {
		if m.released() {
			continue
		}
		for _, s := range m.Seats {
			if _, ok := own([]driver.Instance{i}, s); ok && s.GPU == gpu {
				return m.ID, true
			}
		}
	}
	return "", false
}

// refused reports whether the card said no, rather than nothing.
func refused(err error) bool {
	for _, r := range []error{driver.ErrInUse, driver.ErrNoRoom, driver.ErrInvalid, driver.ErrNotSupported, driver.ErrNotFound} {
		if errors.Is(err, r) {
			return true
		}
	}
	return false
}

// driverFailure names what a driver's refusal means for a member. A cancelled call is not a refusal.
func driverFailure(doing string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	reason := "driver_error"
	for _, c := range []struct {
		is     error
		reason string
	}{
		{driver.ErrInUse, "in_use"}, {driver.ErrNoRoom, "insufficient_resources"}, {driver.ErrInvalid, "invalid_placement"},
		{driver.ErrNotSupported, "not_supported"}, {driver.ErrNotFound, "gpu_not_found"}, {driver.ErrLost, "gpu_lost"}, {errTimeout, "gpu_timeout"},
	} {
		if errors.Is(err, c.is) {
			reason = c.reason
			break
		}
	}
	return &failure{reason, fmt.Sprintf("Could not %s: %v.", doing, err)}
}
