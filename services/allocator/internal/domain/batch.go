package domain

import (
	"errors"
	"time"
)

// Batch is everything one commit of the admission writer changes.
type Batch struct {
	No int64

	NewInstances, Instances []*Instance // inserted; changed
	NewMembers, Members     []*Member   // inserted with their seats; changed, with their seats
	Usage                   map[string]UsageChange
	Nodes                   []NodeUsage
	Events                  []Event
	Items                   []Item
	Sessions                []*Session
	Left                    []LeftBoot
	Desired                 map[string]int64 // generations by node
	NewOrphans              []*Orphan
	FreedOrphans            []*Orphan
	Offerings               []Offering
	Answers                 []Answer
	At                      time.Time
}

// UsageChange is an org's use of its limits before and after a batch.
type UsageChange struct{ Before, After Usage }

// NodeUsage is what is used of a node, and what it reported.
type NodeUsage struct {
	Node                     string
	VCPUsUsed, VCPUsReported int64
	RAMUsed, RAMReported     int64
}

// Item is a row for the instances feed.
type Item struct {
	Key, Org string
	At       time.Time
	Data     any
}

// LeftBoot is a boot that a node has left behind.
type LeftBoot struct {
	Node, Boot string
	At         time.Time
}

// RequestKey is what makes two requests the same one.
type RequestKey struct {
	Org, Principal, Operation, Path, Key string
	Body                                 [32]byte
}

// SameRequest is the key without the body.
func (k RequestKey) SameRequest() RequestKey { k.Body = [32]byte{}; return k }

// Answer is what a request with a key was answered.
type Answer struct {
	Key    RequestKey
	Status int
	JSON   []byte
}

// Image is the database as the writer loads it when it takes over.
type Image struct {
	Incarnation string
	Instances   []*Instance // those with members that hold something, or ghosts
	Nodes       []Node
	Usage       map[string]Usage
	Orgs        []Org
	Limits      []Limits
	Prices      []Price
	Offerings   []Offering // the latest version of each
	Sessions    []*Session
	Desired     map[string]int64
	Orphans     []*Orphan
	Batch       int64 // the last one committed
}

// What a commit may end with, besides a fault that the caller passes on.
var (
	// ErrFenced: another writer took over.
	ErrFenced = errors.New("another writer took over")
	// ErrUnknownCommit: the connection broke at COMMIT.
	ErrUnknownCommit = errors.New("the outcome of the commit is unknown")
	// ErrDrift: what the writer believed of a row is not what stands there.
	ErrDrift = errors.New("the database does not hold what the writer believed")
)

// Violation says which constraint refused a batch.
type Violation struct {
	Constraint string
	Cause      error
}

func (v *Violation) Error() string { return "violates " + v.Constraint + ": " + v.Cause.Error() }

// Unwrap is the database's error.
func (v *Violation) Unwrap() error { return v.Cause }
