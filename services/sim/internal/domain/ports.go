package domain

import "context"

// Fleet is the simulated nodes of this process.
type Fleet interface {
	// Inject makes f happen to the named node and returns the fault's id; "" when there is
	// no such node here.
	Inject(ctx context.Context, node string, f Fault) (string, error)
}

// Inventory knows every node, simulated or not.
type Inventory interface {
	// State is that of the node of that name; "" when there never was one.
	State(ctx context.Context, name string) (string, error)
	// JoinToken gets a token bound to the name.
	JoinToken(ctx context.Context, name string) (Token, error)
}

// The states of nodes that matter here.
const (
	Ready   = "ready"   // heard of
	Retired = "retired" // taken out for good
)

// Token lets a node join.
type Token struct{ Secret, CAPin string }
