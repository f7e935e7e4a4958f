package carve

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir/services/agent/driver"
)

// uncut destroys compute instances, then GPU instances. What is not there any more is done.
func (e *Engine) uncut(ctx context.Context, m *Member, next Phase) error {
	unlock, err := e.locks.lock(ctx, m.Seats)
	if err != nil {
		return err
	}
	defer unlock()
	for i := range m.Seats {
		s := &m.Seats[i]
		if s.Kind != MIG || !s.Cut {
			continue
		}
		list, err := e.instances(ctx, s.GPU)
		if err != nil {
			return fmt.Errorf("read card of member %s: %w", m.ID, err)
		}
		mine, ok := own(list, *s)
		if !ok {
			continue
		}
		s.GI = &mine.ID
		if next == PhaseUnGI {
			err = e.destroyCompute(ctx, *s, mine)
		} else {
			err = e.destroy(ctx, func(ctx context.Context) error { return e.Driver.DestroyInstance(ctx, s.GPU, mine.ID) })
		}
		if err != nil {
			return fmt.Errorf("undo slice of member %s: %w", m.ID, err)
		}
	}
	if next == PhaseReleased {
		if err := e.Runtime.Remove(ctx, m.ID); err != nil {
			return fmt.Errorf("clear up after member %s: %w", m.ID, err)
		}
		m.Cleaning = cleaningOf(*m)
	}
	e.acted(m)
	if err := e.enter(m, next); err != nil {
		return err
	}
	if next == PhaseReleased {
		e.mu.Lock()
		delete(e.stops, m.ID)
		e.mu.Unlock()
	}
	return nil
}

func (e *Engine) destroyCompute(ctx context.Context, s Seat, mine driver.Instance) error {
	for _, ci := range mine.Compute {
		err := e.destroy(ctx, func(ctx context.Context) error { return e.Driver.DestroyCompute(ctx, s.GPU, mine.ID, ci.ID) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) destroy(ctx context.Context, fn func(ctx context.Context) error) error {
	if err := e.insist(ctx, fn); err != nil && !errors.Is(err, driver.ErrNotFound) {
		return err
	}
	return nil
}

// cleaningOf claims what really ran, and no more.
func cleaningOf(m Member) Cleaning {
	cleaning := CleanedNothing
	for _, s := range m.Seats {
		switch {
		case s.Kind == MIG && s.GI != nil:
			cleaning = CleanedGI
		case s.Kind == Whole && m.Started:
			cleaning = CleanedProcesses
		}
	}
	return cleaning
}
