package domain

import "context"

// Fleet is the simulated nodes of this process.
type Fleet interface {
	// Inject makes f happen to the named node; false when there is no such node here.
	Inject(ctx context.Context, node string, f Fault) (bool, error)
}

// Inventory knows every node, simulated or not.
type Inventory interface {
	// Exists reports whether a living node has that name.
	Exists(ctx context.Context, name string) (bool, error)
	// JoinToken gets a token bound to the name.
	JoinToken(ctx context.Context, name string) (Token, error)
}

// Token lets a node join.
type Token struct{ Secret, CAPin string }
