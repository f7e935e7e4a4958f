package carve

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir/services/agent/driver"
)

// cut brings a reserved member's cards into the right mode and cuts its slices. Begun anew by a restart it first looks for
// what it had already done.
func (e *Engine) cut(ctx context.Context, m *Member) error {
	unlock, err := e.locks.lock(ctx, m.Seats)
	if err != nil {
		return err
	}
	defer unlock()
	if m.Phase == PhaseReserved {
		toggle, err := e.inspect(ctx, *m)
		if err != nil {
			return err
		}
		if toggle {
			return e.enter(m, PhaseMode)
		}
		return e.begin(m)
	}
	if m.Phase == PhaseMode {
		if err := e.setMode(ctx, *m); err != nil {
			return err
		}
		e.acted(m)
		return e.begin(m)
	}
	for i := range m.Seats {
		if err := e.create(ctx, &m.Seats[i]); err != nil {
			return err
		}
	}
	e.acted(m)
	return e.enter(m, PhaseCI)
}

// inspect refuses a card with somebody else's slices on it, and says whether a mode must change.
func (e *Engine) inspect(ctx context.Context, m Member) (toggle bool, err error) {
	for _, s := range m.Seats {
		card, err := e.card(ctx, s.GPU)
		if err != nil {
			return false, err
		}
		list, err := e.instances(ctx, s.GPU)
		if err != nil {
			return false, driverFailure("read the card", err)
		}
		for _, i := range list {
			if _, ours := e.owner(s.GPU, i); !ours {
				return false, &failure{"card_quarantined", fmt.Sprintf("Card %d carries a MIG instance (%s at %d) that this node's agent did not make.", card.Index, i.Profile, i.Placement.Start)}
			}
			if s.Kind == Whole || i.Placement.Overlaps(s.placement()) {
				return false, &failure{"span_occupied", fmt.Sprintf("Card %d still carries %s at %d.", card.Index, i.Profile, i.Placement.Start)}
			}
		}
		if want := modeFor(s.Kind); card.Mode != want && card.Geometry.Units > 0 {
			if card.ResetToToggle || card.Mode == driver.ModePending {
				return false, &failure{"mode_mismatch", fmt.Sprintf("Card %d has MIG mode %s, and changing it takes a reset of the card.", card.Index, card.Mode)}
			}
			toggle = true
		}
	}
	return toggle, nil
}

func modeFor(k Kind) driver.Mode {
	if k == MIG {
		return driver.ModeOn
	}
	return driver.ModeOff
}

func (e *Engine) setMode(ctx context.Context, m Member) error {
	for _, s := range m.Seats {
		card, err := e.card(ctx, s.GPU)
		if err != nil {
			return err
		}
		if card.Mode == modeFor(s.Kind) || card.Geometry.Units == 0 {
			continue
		}
		err = e.call(ctx, func(ctx context.Context) error { return e.Driver.SetMIGMode(ctx, s.GPU, s.Kind == MIG) })
		if errors.Is(err, driver.ErrInUse) {
			return &failure{"mode_busy", fmt.Sprintf("Card %d is held by another client, so its MIG mode cannot change.", card.Index)}
		}
		if err != nil {
			return driverFailure("change the MIG mode", err)
		}
	}
	return nil
}

// begin goes on to the cut, or straight to the start where there is nothing to cut.
func (e *Engine) begin(m *Member) error {
	mig := false
	for i, s := range m.Seats {
		if s.Kind == MIG {
			m.Seats[i].Cut, mig = true, true
		}
	}
	if mig {
		return e.enter(m, PhaseGI)
	}
	return e.ready(m)
}

// ready goes on to the start.
func (e *Engine) ready(m *Member) error {
	m.Started = true
	return e.enter(m, PhaseStart)
}

func (e *Engine) create(ctx context.Context, s *Seat) error {
	if s.Kind != MIG || s.GI != nil {
		return nil
	}
	list, err := e.instances(ctx, s.GPU)
	if err != nil {
		return driverFailure("read the card", err)
	}
	if i, ok := own(list, *s); ok {
		s.GI = &i.ID
		return nil
	}
	card, err := e.card(ctx, s.GPU)
	if err != nil {
		return err
	}
	profile, _ := card.Geometry.Profile(s.Profile) // checked at acceptance
	id := 0
	err = e.insist(ctx, func(ctx context.Context) error {
		var err error
		id, err = e.Driver.CreateInstance(ctx, s.GPU, profile.ID, s.placement())
		return err
	})
	if err != nil {
		// A plain refusal made nothing, and then a slice at this place would be somebody else's.
		s.Cut = !refused(err)
		return driverFailure("cut "+s.Profile, err)
	}
	s.GI = &id
	return nil
}

// fill makes the compute instance that takes the whole slice, by a profile looked up on the card.
func (e *Engine) fill(ctx context.Context, m *Member) error {
	unlock, err := e.locks.lock(ctx, m.Seats)
	if err != nil {
		return err
	}
	defer unlock()
	for i := range m.Seats {
		if err := e.fillSeat(ctx, &m.Seats[i]); err != nil {
			return err
		}
	}
	e.acted(m)
	return e.enter(m, PhaseVerify)
}

func (e *Engine) fillSeat(ctx context.Context, s *Seat) error {
	if s.Kind != MIG || s.CI != nil {
		return nil
	}
	list, err := e.instances(ctx, s.GPU)
	if err != nil {
		return driverFailure("read the card", err)
	}
	mine, ok := own(list, *s)
	if !ok {
		return &failure{"slice_lost", "The slice is not on its card any more."}
	}
	if len(mine.Compute) > 0 {
		s.CI = &mine.Compute[0].ID
		return nil
	}
	id := 0
	err = e.insist(ctx, func(ctx context.Context) error {
		offered, err := e.Driver.ComputeProfiles(ctx, s.GPU, *s.GI)
		if err != nil {
			return err
		}
		full, ok := driver.Fullest(offered)
		if !ok {
			return fmt.Errorf("no compute profile: %w", driver.ErrNotSupported)
		}
		id, err = e.Driver.CreateCompute(ctx, s.GPU, *s.GI, full.ID)
		return err
	})
	if err != nil {
		return driverFailure("make the compute instance of "+s.Profile, err)
	}
	s.CI = &id
	return nil
}

// verify reads the slices back: applied means seen on the card.
func (e *Engine) verify(ctx context.Context, m *Member) error {
	unlock, err := e.locks.lock(ctx, m.Seats)
	if err != nil {
		return err
	}
	defer unlock()
	for i := range m.Seats {
		s := &m.Seats[i]
		if s.Kind != MIG {
			continue
		}
		list, err := e.instances(ctx, s.GPU)
		if err != nil {
			return driverFailure("read the slice back", err)
		}
		mine, ok := own(list, *s)
		if !ok || len(mine.Compute) != 1 || mine.Compute[0].ID != *s.CI {
			return &failure{"readback_mismatch", "The card does not show the slice that was cut."}
		}
		s.Device, s.SMs, s.MemoryMiB = mine.Compute[0].UUID, mine.Compute[0].SMs, mine.Compute[0].MemoryMiB
	}
	e.acted(m)
	return e.ready(m)
}
