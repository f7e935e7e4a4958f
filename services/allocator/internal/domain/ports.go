package domain

import (
	"context"
	"time"
)

// Term is one leader's time as the admission writer.
type Term interface {
	// Epoch fences the writes of this term.
	Epoch() int64
	// Renew says that the leader lives; it fails once another one has taken over.
	Renew(ctx context.Context) error
	// Close ends the term.
	Close() error
}

// Ledger is what the admission writer needs of the database.
type Ledger interface {
	// Lead tries once to become the writer; nil without an error when another one leads.
	Lead(ctx context.Context, address string) (Term, error)
	// Load reads all that the writer keeps in memory.
	Load(ctx context.Context) (*Image, error)
	// Commit writes a batch in one transaction: nil, ErrFenced, ErrUnknownCommit, ErrDrift,
	// a *Violation, or a fault.
	Commit(ctx context.Context, epoch int64, b *Batch) error
	// Outcome says whether a batch whose commit broke is in.
	Outcome(ctx context.Context, epoch, batch int64) (committed bool, err error)
}

// Reader is what requests read, each as its org sees it. No instance is fault.NotFound.
type Reader interface {
	Instance(ctx context.Context, org, id string) (*Instance, error)
	Instances(ctx context.Context, org string, f InstanceFilter) ([]*Instance, error)
	Events(ctx context.Context, org, instance string, after int64, limit int) ([]Event, error)
	Usage(ctx context.Context, org string) (Usage, error)
	// Answered is a *Replay, or the refusal of a key that was used with another body; nil
	// when the key is new.
	Answered(ctx context.Context, k RequestKey) error
	// AnyInstance, and an InstanceFilter with no org, are for operators and for loops.
	AnyInstance(ctx context.Context, id string) (*Instance, error)
	// Specs are what members of those instances run, for their nodes.
	Specs(ctx context.Context, instances []string) (map[string]Spec, error)
}

// Broken is an invariant that the database does not hold.
type Broken struct{ Code, Where, Detail string }

// Checker looks for broken invariants in the database, in one consistent look.
type Checker interface {
	Check(ctx context.Context) ([]Broken, error)
}

// InstanceFilter narrows a list of instances, newest first.
type InstanceFilter struct {
	States   []string
	Name     string
	Labels   map[string]string
	Node     string
	Org      string // of operators' lists
	Project  string // of keys that are bound to one
	Deleted  bool   // deleted ones too
	Before   *time.Time
	BeforeID string // with Before: the last item of the page before
	Limit    int
}

// Spec is what a member runs.
type Spec struct {
	Image     string
	Command   []string
	EnvSealed []byte
}

// Sealer keeps environments secret in the database.
type Sealer interface {
	Seal(instance string, env map[string]string) ([]byte, error)
	Open(instance string, sealed []byte) (map[string]string, error)
}
