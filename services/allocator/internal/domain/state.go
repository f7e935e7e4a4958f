package domain

import "time"

// State is where an instance, or one of its members, stands.
type State string

// The states. A member is never queued: it exists once it has its seat.
const (
	Queued      State = "queued"
	Assigned    State = "assigned"
	Preparing   State = "preparing"
	Running     State = "running"
	Unreachable State = "unreachable"
	Stopping    State = "stopping"
	Stopped     State = "stopped"
	Failed      State = "failed"
	Lost        State = "lost"
)

// Ended reports whether s is final for a member.
func (s State) Ended() bool { return s == Stopped || s == Failed || s == Lost }

// Cause says why a member is asked to stop.
type Cause string

// The causes issued here. None of them is inferred, so none needs the brake.
const (
	ByUser     Cause = "user"
	ByOperator Cause = "operator"
	ByShutdown Cause = "shutdown"
	ByDeadline Cause = "preparing_deadline"
	// ByCompletion is told to an agent about members that have ended by themselves.
	ByCompletion Cause = "completed"
)

// Reasons of ends and states that the allocator itself gives. Agents add their own.
const (
	ReasonUser       = "user"
	ReasonOperator   = "operator"
	ReasonCompleted  = "completed"
	ReasonPlatform   = "platform"
	ReasonRebooted   = "node_rebooted"
	ReasonSilent     = "node_silent"
	ReasonFenced     = "fenced"
	ReasonAgentLost  = "agent_lost_it"
	ReasonDeadline   = "preparing_deadline"
	ReasonFailed     = "failed"
	ReasonNodeAnswer = "node_answered"
)

// Cleaning is what was done to a card before a seat was freed, and claims no more.
type Cleaning string

// CleanedNothing is what a fence or a reboot did to the card as far as anybody proved.
const CleanedNothing Cleaning = "none"

// ReleasedBy says which of the three things freed a seat.
type ReleasedBy string

// The three things that free a seat.
const (
	FreedByAgent   ReleasedBy = "agent"
	FreedByFence   ReleasedBy = "fence"
	FreedByNewBoot ReleasedBy = "new_boot"
)

// Ms is the resolution of every recorded instant.
func Ms(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
