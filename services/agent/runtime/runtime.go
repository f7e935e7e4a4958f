package runtime

import (
	"context"
	"errors"
	"io"
	"time"
)

// Runtime runs members.
type Runtime interface {
	// Facts names the runtime and the walls it puts around a member on this machine.
	Facts() Facts
	// Adopt takes over what an earlier agent started under this boot and drops what belongs to another one. It is called
	// once, before anything else but Facts; from then on notify is told of every member that ends, from any goroutine.
	Adopt(ctx context.Context, boot string, notify func(member string)) error
	// Start runs a member's command. A member that was started before is not started again: its state is returned.
	Start(ctx context.Context, s Spec) (State, error)
	// Observe says what became of a member.
	Observe(ctx context.Context, member string) (State, error)
	// Stop asks a member to end, waits for grace, then makes it end, and returns its final state. ErrStillRunning means
	// that it would not; an absent member is no error.
	Stop(ctx context.Context, member string, grace time.Duration) (State, error)
	// Remove gives back what an ended member held. Its log may stay readable for a while.
	Remove(ctx context.Context, member string) error
	// Logs reads a member's output; ErrNoMember when there is none.
	Logs(ctx context.Context, member string, o LogOptions) (io.ReadCloser, error)
	// KillAll ends every member at once, as a power cut would, and forgets them.
	KillAll(ctx context.Context) error
	// Close lets go of the members without touching them.
	Close() error
}

// The errors of a runtime.
var (
	ErrNoMember     = errors.New("no such member")
	ErrStillRunning = errors.New("the member does not end")
	// ErrRefused: this runtime cannot run that spec at all, so trying again is pointless.
	ErrRefused = errors.New("refused by the runtime")
)

// Isolation is how strong the walls are.
type Isolation string

// The isolation classes of a runtime on a machine.
const (
	Sandboxed Isolation = "sandboxed"
	Weak      Isolation = "weak" // Missing says which walls are not there
	None      Isolation = "none" // nothing runs, so nothing is walled in
)

// Facts describes a runtime on this machine.
type Facts struct {
	Name      string
	Isolation Isolation
	Missing   []string
	// RealCards reports whether tenants' work may be run next to real cards.
	RealCards bool
}

// Spec is one member to run.
type Spec struct {
	Member      string
	Instance    string
	Image       string
	Command     []string // empty: hold the slice and wait
	Env         map[string]string
	VCPUsMilli  int64
	RAMMiB      int64
	LogLimitMiB int
	Devices     []Device
}

// Device is one card or slice given to a member.
type Device struct {
	UUID      string
	MemoryMiB int
}

// Phase is where a member is.
type Phase string

// The phases of a member in a runtime.
const (
	Absent  Phase = "absent"
	Running Phase = "running"
	Exited  Phase = "exited"
)

// State is what became of a member.
type State struct {
	Phase     Phase
	PID       int
	RunningAt time.Duration // on the boot clock
	EndedAt   time.Duration // on the boot clock; the last proof of life when Vanished
	ExitCode  int           // 128 + signal for a killed one
	Signal    int
	Vanished  bool // it is gone and nobody saw how
}

// LogOptions says which part of a log is wanted.
type LogOptions struct {
	Follow bool
	Tail   int // the last so many lines; negative: everything that is kept
}
