// Package actor owns the caller's identity as every service sees it: who acts, for
// which org, with which role. It travels in the context, put there by kit/authn alone.
package actor

import "context"

// Kind says what sort of principal acts.
type Kind string

// The kinds of principals.
const (
	Anonymous Kind = ""        // no credential
	User      Kind = "user"    // a person's session
	APIKey    Kind = "key"     // a script
	Node      Kind = "node"    // a GPU node's agent
	Service   Kind = "service" // another Weir service on its own behalf
)

// Role is a member's role in its org.
type Role string

// The roles, from most to least able.
const (
	Owner     Role = "owner"
	Admin     Role = "admin"
	Developer Role = "developer"
	Billing   Role = "billing"
	Viewer    Role = "viewer"
)

// Valid reports whether r is a known role.
func (r Role) Valid() bool {
	switch r {
	case Owner, Admin, Developer, Billing, Viewer:
		return true
	}
	return false
}

// Actor is an authenticated principal.
type Actor struct {
	Kind     Kind
	ID       string // usr_…, key_…, nod_… or a service's name
	Org      string // org_…; empty for nodes and services
	Project  string // prj_… when the credential is bound to one project
	Role     Role
	Operator bool   // holds the platform role
	Session  string // ses_… of a person's login, for revocation
}

type ctxKey struct{}

// With returns ctx carrying a.
func With(ctx context.Context, a Actor) context.Context { return context.WithValue(ctx, ctxKey{}, a) }

// From returns the caller, or the anonymous actor.
func From(ctx context.Context) Actor {
	a, _ := ctx.Value(ctxKey{}).(Actor)
	return a
}
