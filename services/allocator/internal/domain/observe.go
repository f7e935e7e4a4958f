package domain

import "time"

// Observed is what an agent says of one member.
type Observed struct {
	Member         string
	State          ObservedState
	Reason, Detail string
	ExitCode       *int
	RunningAge     *time.Duration // how long ago it began to run
	EndedAge       *time.Duration // how long ago it ended
	Released       bool           // the proof that its seats are free
	Cleaning       Cleaning
	Seats          []ObservedSeat
}

// ObservedSeat is what an agent says of one seat.
type ObservedSeat struct {
	Seat, GPUUUID string
	Kind          Kind
	Profile       string
	Start, Size   *int
	Live          Live
}

// ObservedState is an agent's word for where a member stands.
type ObservedState string

// The words of agents.
const (
	SeenPreparing ObservedState = "preparing"
	SeenRunning   ObservedState = "running"
	SeenStopping  ObservedState = "stopping"
	SeenStopped   ObservedState = "stopped"
	SeenFailed    ObservedState = "failed"
	SeenGone      ObservedState = "gone"           // was here under an earlier boot
	SeenUnknown   ObservedState = "unknown_member" // asked to stop, never heard of, holds nothing
)

// Alive reports whether the member exists on the node.
func (s ObservedState) Alive() bool {
	return s == SeenPreparing || s == SeenRunning || s == SeenStopping
}

// Observe is what an agent's words do to a member that has not ended. boot is the boot
// they were said under.
func (m *Member) Observe(o Observed, boot string, now time.Time) []Step {
	switch {
	case m.State.Ended():
		return nil
	case o.State.Alive():
		return m.observeAlive(o, boot, now)
	case o.State == SeenUnknown && !m.Asked():
		return nil // says nothing of a member that is to run
	}
	return m.observeEnd(o, boot, now)
}

func (m *Member) observeAlive(o Observed, boot string, now time.Time) []Step {
	by := NodeActor(m.Node)
	m.acknowledge(boot)
	m.Proof = later(Ms(now), m.Proof)
	switch {
	case m.State == Stopping:
		return m.observeStopping(o, by, now)
	case o.State == SeenStopping: // on the agent's own account
		return []Step{m.step(Stopping, o.Reason, o.Detail, by, now, nil, nil)}
	case o.State == SeenRunning && m.State == Unreachable:
		// What it did while its node was silent is not billed.
		return m.healed(m.step(Running, ReasonNodeAnswer, o.Detail, by, now, m.openMeter(now), nil))
	case o.State == SeenRunning && m.State != Running:
		return []Step{m.step(Running, o.Reason, o.Detail, by, now, m.openMeter(ago(now, o.RunningAge)), nil)}
	case o.State == SeenPreparing && (m.State == Assigned || m.State == Unreachable && m.RunningAt == nil):
		return []Step{m.step(Preparing, o.Reason, o.Detail, by, now, nil, nil)}
	}
	return nil
}

// healed leaves the reason to history: a member that is well again has none.
func (m *Member) healed(s Step) []Step {
	m.Reason, m.Detail = "", ""
	return []Step{s}
}

// observeStopping: a member that is to stop never runs again, but what it ran until it was
// asked is billed, even when that shows only now.
func (m *Member) observeStopping(o Observed, by Actor, now time.Time) []Step {
	if !m.Asked() {
		return nil
	}
	from, until := m.ranUnseen(o, now, *m.StopAskedAt)
	if from == nil {
		until = m.closeMeter(*m.StopAskedAt)
	}
	if until == nil {
		return nil
	}
	return []Step{m.step(Stopping, m.Reason, m.Detail, by, now, from, until)}
}

func (m *Member) observeEnd(o Observed, boot string, now time.Time) []Step {
	at := now
	switch {
	case o.EndedAge != nil:
		at = ago(now, o.EndedAge)
	case o.State == SeenGone:
		at = m.Proof
	}
	at = later(Ms(m.ran(o, at, now)), m.AssignedAt)
	// What is gone was there under an earlier boot, even one whose agent could not say so any more.
	rebooted := m.Boot != boot && (m.Boot != "" || o.State == SeenGone)
	if o.State != SeenGone && o.State != SeenUnknown {
		m.acknowledge(boot)
	}
	from, until := m.ranUnseen(o, now, m.bound(at))
	if from == nil {
		until = m.closeMeter(m.bound(at))
	}
	s, reason := m.endOf(o, at, rebooted)
	m.ExitCode = o.ExitCode
	steps := m.end(s, reason, o.Detail, NodeActor(m.Node), now, until, at)
	steps[0].From = from
	return steps
}

// ran corrects the end of a run so short that the way of two reports took longer than it:
// its beginning came late, so its end would come before it. One report's two ages tell how
// long it was.
func (m *Member) ran(o Observed, at, now time.Time) time.Time {
	if m.MeterFrom == nil || o.RunningAge == nil || o.EndedAge == nil || at.After(*m.MeterFrom) {
		return at
	}
	return earlier(m.MeterFrom.Add(*o.RunningAge-*o.EndedAge), now)
}

// endOf names an end. A member that ended by itself before it was asked to stop says so.
func (m *Member) endOf(o Observed, at time.Time, rebooted bool) (State, string) {
	byItself := o.EndedAge != nil && (!m.Asked() || at.Before(*m.StopAskedAt))
	switch {
	case m.Asked() && !byItself && m.StopCause == ByDeadline:
		return Failed, ReasonDeadline
	case m.Asked() && !byItself:
		return Stopped, string(m.StopCause)
	case o.State == SeenStopped:
		return Stopped, orElse(o.Reason, ReasonCompleted)
	case o.State == SeenFailed:
		return Failed, orElse(o.Reason, ReasonFailed)
	case rebooted:
		return Lost, ReasonRebooted
	}
	return Lost, ReasonAgentLost
}

// ranUnseen is the whole interval of a member that ran before anybody was told, up to
// until. A member given up as silent has none: silence is not billed.
func (m *Member) ranUnseen(o Observed, now, until time.Time) (from, to *time.Time) {
	if m.RunningAt != nil || o.RunningAge == nil || m.State == Unreachable || !m.Counted {
		return nil, nil
	}
	if began := later(ago(now, o.RunningAge), m.AssignedAt); began.Before(until) {
		return m.openMeter(began), m.closeMeter(until)
	}
	return nil, nil
}

func ago(now time.Time, age *time.Duration) time.Time {
	if age == nil || *age < 0 {
		return Ms(now)
	}
	return Ms(now.Add(-*age))
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
