package domain

import "time"

// Actor is who made a transition happen.
type Actor struct{ Kind, ID string }

// Platform acts when a loop of the allocator does.
var Platform = Actor{Kind: "service", ID: "allocator"}

// NodeActor acts when an agent's report does.
func NodeActor(node string) Actor { return Actor{Kind: "node", ID: node} }

// Step is one transition of a member, as history and the feed tell it.
type Step struct {
	Member         *Member
	At             time.Time
	State          State
	Reason, Detail string
	Actor          Actor
	From, Until    *time.Time // billable
	Ended          bool
}
