package carve

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir/services/agent/driver"
	"github.com/weirhq/weir/services/agent/runtime"
)

// failure ends a member that cannot be prepared.
type failure struct{ reason, detail string }

func (f *failure) Error() string { return f.reason + ": " + f.detail }

// drive takes a member as far as it goes now. nil means that it rests; an error is worth another try later.
func (e *Engine) drive(ctx context.Context, id string) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, ok := e.Book.Get(id)
		if !ok || m.released() {
			return nil
		}
		rest, err := e.advance(ctx, &m)
		var f *failure
		if errors.As(err, &f) && m.Phase.preparing() {
			e.Log.Warn("member failed", "member", id, "phase", m.Phase, "reason", f.reason, "detail", f.detail)
			err = e.end(&m, Final{StateFailed, f.reason, f.detail})
		}
		if err != nil {
			return err
		}
		if rest {
			return nil
		}
	}
}

// advance acts on the phase that is journaled and journals the next one.
func (e *Engine) advance(ctx context.Context, m *Member) (rest bool, err error) {
	if m.Phase.live() {
		if cause, ok := e.stopAsked(m.ID); ok {
			return false, e.end(m, Final{State: StateStopped, Reason: string(cause)})
		}
	}
	switch m.Phase {
	case PhaseReserved, PhaseMode, PhaseGI:
		return false, e.cut(ctx, m)
	case PhaseCI:
		return false, e.fill(ctx, m)
	case PhaseVerify:
		return false, e.verify(ctx, m)
	case PhaseStart:
		return e.start(ctx, m)
	case PhaseRunning:
		return e.watch(ctx, m)
	case PhaseEnd:
		return false, e.stop(ctx, m)
	case PhaseUnCI:
		return false, e.uncut(ctx, m, PhaseUnGI)
	case PhaseUnGI:
		return false, e.uncut(ctx, m, PhaseReleased)
	}
	return true, nil
}

// enter journals the next phase together with what the act before it found out.
func (e *Engine) enter(m *Member, next Phase) error {
	e.Crash(string(next) + ":before-write")
	m.Phase = next
	if err := e.Book.Put(*m); err != nil {
		return fmt.Errorf("journal %s of member %s: %w", next, m.ID, err)
	}
	e.note(m.ID)
	e.Crash(string(next) + ":after-write")
	return nil
}

// acted marks that the act of m's phase is done and not yet written.
func (e *Engine) acted(m *Member) { e.Crash(string(m.Phase) + ":after-act") }

// end decides how a live member ends. Undoing starts with the next phase.
func (e *Engine) end(m *Member, f Final) error {
	m.Final = &f
	e.mu.Lock()
	delete(e.held, m.ID)
	e.mu.Unlock()
	if !m.Started && m.EndedAt == 0 {
		m.EndedAt = e.Boot()
	}
	return e.enter(m, PhaseEnd)
}

// start runs the command. A member restored from the journal waits here until desired says again what to run: commands
// and their secrets are not kept on disk.
func (e *Engine) start(ctx context.Context, m *Member) (rest bool, err error) {
	state, err := e.Runtime.Observe(ctx, m.ID)
	if err != nil {
		return false, fmt.Errorf("observe member %s: %w", m.ID, err)
	}
	if state.Phase == runtime.Absent {
		spec, ok := e.spec(*m)
		if !ok {
			return true, nil
		}
		if err := e.open(ctx, *m); err != nil {
			return false, err
		}
		if state, err = e.Runtime.Start(ctx, spec); err != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			return false, startFailure(err)
		}
	} else if err := e.open(ctx, *m); err != nil {
		return false, err
	}
	e.acted(m)
	m.PID, m.RunningAt = state.PID, state.RunningAt
	return false, e.enter(m, PhaseRunning)
}

func startFailure(err error) error {
	if errors.Is(err, runtime.ErrRefused) {
		return &failure{"refused", err.Error()}
	}
	return &failure{"start_failed", err.Error()}
}

// open tells a driver that cannot see processes who holds the slices.
func (e *Engine) open(ctx context.Context, m Member) error {
	t, ok := e.Driver.(driver.Tracker)
	if !ok {
		return nil
	}
	for _, s := range m.Seats {
		err := e.call(ctx, func(ctx context.Context) error { return t.Opened(ctx, s.Device, m.ID) })
		if err != nil {
			return driverFailure("open the device", err)
		}
	}
	return nil
}

func (e *Engine) spec(m Member) (runtime.Spec, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w, ok := e.wants[m.ID]
	if !ok {
		return runtime.Spec{}, false
	}
	s := runtime.Spec{Member: m.ID, Instance: m.Instance, Image: w.Image, Command: w.Command, Env: w.Env,
		VCPUsMilli: w.VCPUsMilli, RAMMiB: w.RAMMiB, LogLimitMiB: w.LogLimitMiB}
	for _, seat := range m.Seats {
		s.Devices = append(s.Devices, runtime.Device{UUID: seat.Device, MemoryMiB: seat.MemoryMiB})
	}
	return s, true
}

// watch looks whether a running member still runs.
func (e *Engine) watch(ctx context.Context, m *Member) (rest bool, err error) {
	e.forgetWant(m.ID)
	state, err := e.Runtime.Observe(ctx, m.ID)
	if err != nil {
		return false, fmt.Errorf("observe member %s: %w", m.ID, err)
	}
	switch state.Phase {
	case runtime.Running:
		if m.PID != state.PID {
			m.PID = state.PID
			return true, e.enter(m, PhaseRunning)
		}
		return true, nil
	case runtime.Exited:
		return false, e.end(m, finalOf(state))
	}
	return false, e.end(m, Final{StateFailed, "process_lost", "The process is gone and left no exit status."})
}

func finalOf(s runtime.State) Final {
	switch {
	case s.Vanished:
		return Final{StateFailed, "process_lost", "The process is gone and left no exit status."}
	case s.ExitCode == 0:
		return Final{State: StateStopped, Reason: "completed"}
	case s.Signal != 0:
		return Final{StateFailed, "exit_nonzero", fmt.Sprintf("The command was ended by signal %d.", s.Signal)}
	}
	return Final{StateFailed, "exit_nonzero", fmt.Sprintf("The command exited with code %d.", s.ExitCode)}
}

// stop ends the command and takes down when and how it ended.
func (e *Engine) stop(ctx context.Context, m *Member) error {
	e.forgetWant(m.ID)
	if m.Started {
		state, err := e.Runtime.Stop(ctx, m.ID, e.Grace)
		if err != nil {
			return fmt.Errorf("stop member %s: %w", m.ID, err)
		}
		e.close(ctx, *m)
		e.acted(m)
		if state.RunningAt > 0 {
			m.RunningAt = state.RunningAt
		}
		if state.Phase == runtime.Exited {
			m.EndedAt = state.EndedAt
			if !state.Vanished {
				code := state.ExitCode
				m.ExitCode = &code
			}
		}
		if m.EndedAt == 0 {
			m.EndedAt = e.Boot()
		}
		m.PID = 0
	}
	return e.enter(m, PhaseUnCI)
}

// close is open undone. A device that is gone has no holders.
func (e *Engine) close(ctx context.Context, m Member) {
	t, ok := e.Driver.(driver.Tracker)
	if !ok {
		return
	}
	for _, s := range m.Seats {
		err := e.call(ctx, func(ctx context.Context) error { return t.Closed(ctx, s.Device, m.ID) })
		if err != nil && !errors.Is(err, driver.ErrNotFound) {
			e.Log.Warn("device not let go", "member", m.ID, "device", s.Device, "error", err)
		}
	}
}

func (e *Engine) forgetWant(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.wants, id) // it holds the tenant's secrets
}
