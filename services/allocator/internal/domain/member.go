package domain

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/money"
)

// Member is one container on one node, from one admission.
type Member struct {
	ID, Org, Instance, Project string
	Ordinal                    int
	Node, NodeName             string // the name is for showing; the node's id counts

	State          State
	Reason, Detail string
	ExitCode       *int

	// Pinned at admission.
	Offering                      string
	OfferingVersion               int64
	Cards                         int
	GPUeMicro, VCPUsMilli, RAMMiB int64
	PriceVersion                  string
	PerHour                       money.Micro // of the whole member
	Currency                      string
	AssignedAt                    time.Time
	PrepareBy                     time.Time // on the real clock
	RunningAt                     *time.Time
	Boot                          string     // under which its agent acknowledged it
	MeterFrom                     *time.Time // the open interval's beginning
	MeterUntil                    *time.Time // the last closed interval's end
	StopCause                     Cause
	StopAskedAt                   *time.Time
	EndedAt                       *time.Time
	Counted                       bool       // its use stands in limit_usage
	ReleasedAt                    *time.Time // seats, vCPU and RAM are free
	Ghost                         bool       // fenced, and its node has not yet proven that it is gone
	Seats                         []*Seat
	Proof                         time.Time // when it was last shown alive; kept per node in the database
}

// NeverSeen reports whether the agent has not acknowledged the member yet.
func (m *Member) NeverSeen() bool { return m.Boot == "" }

// Asked reports whether somebody asked the member to stop.
func (m *Member) Asked() bool { return m.StopCause != "" }

// Contact is how well the node of a member is heard just now.
type Contact int

// Heard is reporting as it should. Quiet has missed reports, or the allocator itself was
// away: what happened on the node meanwhile will be told. Silent is given up.
const (
	Heard Contact = iota
	Quiet
	Silent
)

// Ask stops the member. On a node that is heard its meter ends now. On a quiet one that is
// left to the node's next words, which may tell an earlier end. On a silent one the meter
// ended with the last sign of life, and the member's share of the limits returns now,
// since nobody can say how long the node stays away.
func (m *Member) Ask(cause Cause, detail string, by Actor, now time.Time, c Contact) []Step {
	if m.State.Ended() || m.Asked() {
		return nil
	}
	asked := Ms(now)
	m.StopCause, m.StopAskedAt = cause, &asked
	var until *time.Time
	switch {
	case c == Silent || m.State == Unreachable:
		m.Counted = false
		until = m.closeMeter(earlier(asked, m.Proof))
	case c == Heard:
		until = m.closeMeter(asked)
	}
	return []Step{m.step(Stopping, string(cause), detail, by, now, nil, until)}
}

// Silence is what the silence of its node does to the member.
func (m *Member) Silence(now time.Time) []Step {
	if m.State.Ended() || m.State == Unreachable {
		return nil
	}
	until := m.closeMeter(m.bound(m.Proof))
	if m.State == Stopping {
		if m.Asked() {
			m.Counted = false
		}
		if until == nil {
			return nil
		}
		return []Step{m.step(Stopping, m.Reason, m.Detail, Platform, now, nil, until)}
	}
	return []Step{m.step(Unreachable, ReasonSilent, "The node does not answer; the meter stands still since its last sign of life.", Platform, now, nil, until)}
}

// GoDown ends the member because its node is being switched off on purpose.
func (m *Member) GoDown(boot string, now time.Time) []Step {
	if m.State.Ended() {
		return nil
	}
	m.acknowledge(boot)
	reason := ReasonPlatform
	if m.Asked() {
		reason = string(m.StopCause)
	}
	return m.end(Stopped, reason, "The node was switched off.", NodeActor(m.Node), now, m.closeMeter(m.bound(now)), now)
}

// Fence ends the member by an operator's word that its node is off.
func (m *Member) Fence(detail string, by Actor, now time.Time) []Step {
	if m.State.Ended() {
		return nil
	}
	return m.end(Lost, ReasonFenced, detail, by, now, m.closeMeter(m.bound(m.Proof)), now)
}

// Overdue asks a member that did not begin to run in time to stop.
func (m *Member) Overdue(now, real time.Time, c Contact) []Step {
	if (m.State != Assigned && m.State != Preparing) || !real.After(m.PrepareBy) {
		return nil
	}
	return m.Ask(ByDeadline, "It did not begin to run in time.", Platform, now, c)
}

// end makes the end final. at is when the member ended, now when that became known.
func (m *Member) end(s State, reason, detail string, by Actor, now time.Time, until *time.Time, at time.Time) []Step {
	at = later(Ms(at), m.AssignedAt)
	m.EndedAt, m.Counted = &at, false
	step := m.step(s, reason, detail, by, now, nil, until)
	step.Ended = true
	return []Step{step}
}

func (m *Member) step(s State, reason, detail string, by Actor, now time.Time, from, until *time.Time) Step {
	m.State, m.Reason, m.Detail = s, reason, detail
	return Step{Member: m, At: Ms(now), State: s, Reason: reason, Detail: detail, Actor: by, From: from, Until: until}
}

// openMeter begins an interval, not before the member was assigned nor before the last
// interval ended.
func (m *Member) openMeter(from time.Time) *time.Time {
	if m.MeterFrom != nil {
		return nil
	}
	from = later(Ms(from), m.AssignedAt)
	if m.MeterUntil != nil {
		from = later(from, *m.MeterUntil)
	}
	m.MeterFrom = &from
	if m.RunningAt == nil {
		m.RunningAt = &from
	}
	return &from
}

// closeMeter ends the open interval, if there is one.
func (m *Member) closeMeter(until time.Time) *time.Time {
	if m.MeterFrom == nil {
		return nil
	}
	until = later(Ms(until), *m.MeterFrom)
	m.MeterFrom, m.MeterUntil = nil, &until
	return &until
}

// bound is the earlier of t and the instant at which the member was asked to stop.
func (m *Member) bound(t time.Time) time.Time {
	if m.StopAskedAt != nil {
		return earlier(t, *m.StopAskedAt)
	}
	return t
}

func (m *Member) acknowledge(boot string) {
	if m.Boot != "" {
		return
	}
	m.Boot = boot
	for _, s := range m.Seats {
		if s.Boot == "" {
			s.Boot = boot
		}
	}
}

// Release frees the seats the member still holds.
func (m *Member) Release(cleaning Cleaning, by ReleasedBy, now time.Time) {
	if m.ReleasedAt != nil {
		return
	}
	at := Ms(now)
	for _, s := range m.Seats {
		if s.ReleasedAt == nil {
			s.ReleasedAt, s.Cleaning, s.ReleasedBy = &at, cleaning, by
		}
	}
	m.ReleasedAt = &at
}
