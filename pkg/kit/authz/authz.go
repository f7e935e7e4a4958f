// Package authz owns who may do what: one table, operationId → Rule, which every door
// consults before a handler runs and which deploys, documents and tests read alike. An
// operation without a rule is refused.
//
// A rule decides by the caller alone. Whether an object belongs to the caller's org is
// decided where the object lives: a foreign object and a random id give the same 404.
package authz

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
)

// Rule says who may call one operation.
type Rule struct {
	Who Who
	// Object names what the id in the path belongs to, when it is the property of one
	// org ("instance", "api_key" …): such an id of another org answers like a random
	// one. Empty for operations without such an id.
	Object string
}

// Who is a set of callers. Build it with the values and functions of this package.
type Who struct {
	kind        kind
	roles       []actor.Role
	services    []string
	operatorToo bool
	peopleOnly  bool
}

type kind int

const (
	nobody kind = iota
	anyone
	member
	operator
	node
	service
)

// The sets that need no arguments.
var (
	Anyone    = Who{kind: anyone}   // with or without a credential
	AnyMember = Who{kind: member}   // every role of an org, sessions and API keys
	Operator  = Who{kind: operator} // the platform role
	NodeOnly  = Who{kind: node}     // an enrolled node's agent
)

// Roles is the members of an org who hold one of the roles.
func Roles(roles ...actor.Role) Who { return Who{kind: member, roles: roles} }

// Services is other services of the deployment, acting on their own behalf.
func Services(names ...string) Who { return Who{kind: service, services: names} }

// OperatorToo adds operators who act in no org. Without it an operator has no power
// inside an org but what a membership gives.
func (w Who) OperatorToo() Who { w.operatorToo = true; return w }

// PeopleOnly leaves API keys out: the operation belongs to a person's session.
func (w Who) PeopleOnly() Who { w.peopleOnly = true; return w }

// String is the set in words, as documented.
func (w Who) String() string {
	var s string
	switch w.kind {
	case anyone:
		return "anyone"
	case operator:
		s = "operator"
	case node:
		return "node"
	case service:
		return "service: " + strings.Join(w.services, ", ")
	case member:
		s = "any member"
		if len(w.roles) > 0 {
			names := make([]string, len(w.roles))
			for i, r := range w.roles {
				names[i] = string(r)
			}
			s = strings.Join(names, ", ")
		}
		if w.operatorToo {
			s += ", operator"
		}
	default:
		return "nobody"
	}
	if w.peopleOnly {
		s += " (not with an API key)"
	}
	return s
}

// Public reports whether no credential is needed.
func (w Who) Public() bool { return w.kind == anyone }

// Internal reports whether only other services may call.
func (w Who) Internal() bool { return w.kind == service }

// Operators reports whether an operator without an org may call.
func (w Who) Operators() bool { return w.kind == operator || w.operatorToo || w.kind == anyone }

// Allows reports whether a member of an org with that role may call.
func (w Who) Allows(r actor.Role) bool {
	return w.kind == anyone || w.kind == member && (len(w.roles) == 0 || slices.Contains(w.roles, r))
}

// Rules is who may call what, by operationId.
type Rules map[string]Rule

// Check refuses a caller that the operation's rule leaves out: unauthenticated when a
// credential would help, forbidden when it is the wrong one.
func (rules Rules) Check(operation string, a actor.Actor, peer string) error {
	r, ok := rules[operation]
	if !ok {
		return fault.Wrap(fault.Internal, "This operation is not available.", fmt.Errorf("authz: operation %q has no rule", operation))
	}
	return r.Check(a, peer)
}

// Name returns an operation's id as the table writes it. The generator changes the letter
// case of the ids in the documents that it embeds (listGpus becomes ListGPUs).
func (rules Rules) Name(operation string) (string, bool) {
	if _, ok := rules[operation]; ok {
		return operation, true
	}
	for name := range rules {
		if strings.EqualFold(name, operation) {
			return name, true
		}
	}
	return operation, false
}

// Check is Table.Check.
func Check(operation string, a actor.Actor, peer string) error {
	return Table.Check(operation, a, peer)
}

// Check refuses a caller that r leaves out. peer is the service whose connection brought
// the request, proven by the mesh.
func (r Rule) Check(a actor.Actor, peer string) error {
	switch r.Who.kind {
	case anyone:
		return nil
	case service:
		if a.Kind == actor.Service && a.ID == peer && slices.Contains(r.Who.services, peer) {
			return nil
		}
		return refuse(a, "This operation is for other services only.")
	case node:
		if a.Kind == actor.Node {
			return nil
		}
		return refuse(a, "This operation is for the agents of nodes only.")
	case operator:
		if person(a) && a.Operator {
			return r.Who.checkKey(a)
		}
		return refuse(a, "This operation needs the operator role.")
	case member:
		return r.Who.checkMember(a)
	}
	return refuse(a, "This operation is not available.")
}

func (w Who) checkMember(a actor.Actor) error {
	switch {
	case !person(a):
		return refuse(a, "This operation is for members of an org only.")
	case w.operatorToo && a.Operator:
		return w.checkKey(a)
	case a.Org == "" || !a.Role.Valid():
		return refuse(a, "This operation is for members of an org only.")
	case len(w.roles) > 0 && !slices.Contains(w.roles, a.Role):
		return refuse(a, fmt.Sprintf("Your role %s may not do this; it needs %s.", a.Role, w))
	}
	return w.checkKey(a)
}

func (w Who) checkKey(a actor.Actor) error {
	if w.peopleOnly && a.Kind == actor.APIKey {
		return refuse(a, "An API key may not do this; log in as a person.")
	}
	return nil
}

func person(a actor.Actor) bool { return a.Kind == actor.User || a.Kind == actor.APIKey }

// refuse asks for a credential when there was none: a bare service connection is how the
// gateway forwards a request without one.
func refuse(a actor.Actor, why string) error {
	if a.Kind == actor.Anonymous || a.Kind == actor.Service && a.Org == "" && a.ID == "gateway" {
		return fault.New(fault.Unauthenticated, "This operation needs a valid access token or API key.")
	}
	return fault.New(fault.Forbidden, why)
}
