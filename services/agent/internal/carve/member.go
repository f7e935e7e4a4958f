package carve

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

// Phase is how far a member has come. A phase is journaled before its act.
type Phase string

// The phases, in order. A failure or a stop jumps to end from any phase before it.
const (
	PhaseReserved Phase = "reserved" // the span is ours; nothing done
	PhaseMode     Phase = "mode"     // MIG mode is being switched
	PhaseGI       Phase = "gi"       // the GPU instance is being cut
	PhaseCI       Phase = "ci"       // the compute instance is being made
	PhaseVerify   Phase = "verify"   // the slice is being read back
	PhaseStart    Phase = "start"    // the command is being started
	PhaseRunning  Phase = "running"
	PhaseEnd      Phase = "end"  // the command is being ended
	PhaseUnCI     Phase = "unci" // the compute instance is being destroyed
	PhaseUnGI     Phase = "ungi" // the GPU instance is being destroyed
	PhaseReleased Phase = "released"
)

// live reports whether the member has not begun to end.
func (p Phase) live() bool {
	switch p {
	case PhaseEnd, PhaseUnCI, PhaseUnGI, PhaseReleased:
		return false
	}
	return true
}

func (p Phase) preparing() bool { return p.live() && p != PhaseRunning }

// State is what is reported of a member.
type State string

// The states of a member as others see it.
const (
	StatePreparing State = "preparing"
	StateRunning   State = "running"
	StateStopping  State = "stopping"
	StateStopped   State = "stopped"
	StateFailed    State = "failed"
	StateGone      State = "gone"           // was here under an earlier boot
	StateUnknown   State = "unknown_member" // asked to stop, never heard of
)

// Cleaning is what really ran before a release.
type Cleaning string

// The cleanings.
const (
	CleanedGI        Cleaning = "gi_destroyed"
	CleanedProcesses Cleaning = "processes_gone"
	CleanedNothing   Cleaning = "none"
)

// Kind is the kind of a seat.
type Kind string

// The kinds of seats an agent can prepare.
const (
	Whole Kind = "whole"
	MIG   Kind = "mig"
)

// Member is the journal's record of one member. All stamps are on the boot clock, in nanoseconds, and mean nothing under
// another boot than Boot.
type Member struct {
	ID        string        `json:"id"`
	Instance  string        `json:"instance"`
	Boot      string        `json:"boot"`
	Phase     Phase         `json:"phase"`
	Seats     []Seat        `json:"seats,omitempty"`
	Final     *Final        `json:"final,omitempty"`   // how it ends, once that is decided
	Started   bool          `json:"started,omitempty"` // the runtime may hold something of it
	PID       int           `json:"pid,omitempty"`
	RunningAt time.Duration `json:"running_at,omitempty"`
	EndedAt   time.Duration `json:"ended_at,omitempty"`
	ExitCode  *int          `json:"exit_code,omitempty"`
	Cleaning  Cleaning      `json:"cleaning,omitempty"`
}

// Final is how a member ends.
type Final struct {
	State  State  `json:"state"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// Seat is one slice of a member: the spec it was given and the live identity it got.
type Seat struct {
	ID        string `json:"id"`
	GPU       string `json:"gpu"`
	Kind      Kind   `json:"kind"`
	Profile   string `json:"profile,omitempty"`
	Start     int    `json:"start,omitempty"`
	Size      int    `json:"size,omitempty"`
	Cut       bool   `json:"cut,omitempty"` // the cut was begun: a slice of this spec on the card is ours
	GI        *int   `json:"gi,omitempty"`
	CI        *int   `json:"ci,omitempty"`
	Device    string `json:"device,omitempty"`
	SMs       int    `json:"sms,omitempty"`
	MemoryMiB int    `json:"memory_mib,omitempty"`
}

func (s Seat) placement() mig.Placement { return mig.Placement{Start: s.Start, Size: s.Size} }

// conflicts reports whether two seats cannot live on their cards together.
func (s Seat) conflicts(o Seat) bool {
	if s.GPU != o.GPU {
		return false
	}
	return s.Kind == Whole || o.Kind == Whole || s.placement().Overlaps(o.placement())
}

// released reports whether the member holds nothing any more.
func (m Member) released() bool { return m.Phase == PhaseReleased }

// State is what to report of m.
func (m Member) State() State {
	switch {
	case m.Phase == PhaseRunning:
		return StateRunning
	case m.Phase.live():
		return StatePreparing
	case m.Final == nil, m.Phase == PhaseEnd && m.EndedAt == 0:
		return StateStopping
	}
	return m.Final.State
}

// clone shares nothing with m that anybody changes.
func (m Member) clone() Member {
	m.Seats = append([]Seat(nil), m.Seats...)
	return m
}

// Want is one member of the desired state.
type Want struct {
	Member, Instance string
	Stop             bool
	Cause            Cause // of a stop
	Seats            []Seat
	Image            string
	Command          []string
	Env              map[string]string
	VCPUsMilli       int64
	RAMMiB           int64
	LogLimitMiB      int
}

// Cause is why a member is to stop.
type Cause string

// inferred reports whether nobody asked for the stop: a control plane's conclusion, which may be wrong about many members
// at once and is braked here.
func (c Cause) inferred() bool {
	switch c {
	case "silence", "health", "rebalance", "reconcile":
		return true
	}
	return false
}

// Desired is the whole desired state of this node.
type Desired struct {
	Incarnation string
	Generation  int64
	Members     []Want
}
