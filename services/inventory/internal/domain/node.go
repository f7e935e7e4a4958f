package domain

import (
	"fmt"
	"maps"
	"regexp"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// NodeState is where a node stands.
type NodeState string

// The states of a node. There is no way out of NodeRetired.
const (
	NodeReady    NodeState = "ready"     // heard of lately
	NodeNotReady NodeState = "not_ready" // not heard of, or not to be believed: see Reason
	NodeRetired  NodeState = "retired"
)

// Reason says why a node is not ready.
type Reason string

// The reasons.
const (
	NoReason          Reason = ""
	Enrolled          Reason = "enrolled"           // joined, not yet heard of
	Silent            Reason = "silent"             // no status for the node time-out
	DuplicateIdentity Reason = "duplicate_identity" // two machines speak as this node
	ByOperator        Reason = "operator"           // retired
)

// Node is a server with an agent.
type Node struct {
	ID, Name, Pool, Region string
	State                  NodeState
	Reason                 Reason
	Cordoned               bool
	Quarantined            bool // two machines hold this identity, until one is enrolled anew
	BootID                 string
	Facts                  NodeFacts
	Rack, Zone             string
	Labels                 map[string]string
	Version                int64
	CreatedAt              time.Time
	RetiredAt              time.Time // zero until then

	// Read with it, owned by what the node was last seen like.
	LastSeenAt time.Time
	Ignored    int64 // stale statuses so far
	Counters   map[string]int64
	GPUs       int // cards, lost ones included
}

// NodeFacts is what an agent says about its machine.
type NodeFacts struct {
	Simulated    bool     `json:"simulated"`
	Hostname     string   `json:"hostname"`
	AgentVersion string   `json:"agent_version"`
	VCPUsMilli   int64    `json:"vcpus_milli"`
	RAMMiB       int64    `json:"ram_mib"`
	DiskMiB      int64    `json:"disk_mib"`
	Runtime      *Runtime `json:"runtime"`
	RefusingWork string   `json:"refusing_work"` // why it starts nothing new; "" when it does
}

// Runtime is what runs containers on a node, and how well it walls them off.
type Runtime struct {
	Name      string   `json:"name"`
	Isolation string   `json:"isolation"`
	Missing   []string `json:"missing"`
}

// Alive reports whether the node speaks and may be believed.
func (n Node) Alive() bool { return n.State == NodeReady }

// CheckRetire refuses to retire a node that still works: its agent would be cut off from
// members that nobody stopped.
func (n Node) CheckRetire(inUse int) error {
	switch {
	case !n.Alive():
		return nil
	case inUse > 0:
		return fault.New(fault.Conflict, fmt.Sprintf("Node %s is alive and holds %d slices of members; stop them first.", n.Name, inUse))
	case !n.Cordoned:
		return fault.New(fault.Conflict, fmt.Sprintf("Node %s is alive and may get work at any moment; cordon it first.", n.Name))
	}
	return nil
}

// CheckTaken refuses to hand the node's name to another machine. A token bound to the name
// is the operator's word that the machine is the same or its replacement; without it, two
// machines that were cloned with one host name must not push each other out.
func (n Node) CheckTaken(bound bool) error {
	if bound || !n.Alive() {
		return nil
	}
	return fault.New(fault.Conflict, fmt.Sprintf(
		"A living node is already called %s. Use another name, or a join token bound to this name to replace it.", n.Name))
}

var nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

// ValidNodeName reports whether s may name a node.
func ValidNodeName(s string) bool { return nodeName.MatchString(s) }

// NodeUpdate is an operator's change; nil leaves a field as it is.
type NodeUpdate struct {
	Cordoned   *bool
	Labels     *map[string]string
	Rack, Zone *string
}

// Validate refuses labels that nobody could name.
func (u NodeUpdate) Validate() error {
	if u.Labels == nil {
		return nil
	}
	for k := range *u.Labels {
		if k == "" || len(k) > 63 {
			return fault.InvalidField("labels", "must have keys of 1 to 63 characters")
		}
	}
	return nil
}

// Apply changes n and reports whether anything is different.
func (u NodeUpdate) Apply(n *Node) bool {
	before := *n
	if u.Cordoned != nil {
		n.Cordoned = *u.Cordoned
	}
	if u.Rack != nil {
		n.Rack = *u.Rack
	}
	if u.Zone != nil {
		n.Zone = *u.Zone
	}
	if u.Labels != nil {
		n.Labels = *u.Labels
	}
	return !maps.Equal(before.Labels, n.Labels) || before.Cordoned != n.Cordoned || before.Rack != n.Rack || before.Zone != n.Zone
}

// Pool is nodes under one authority.
type Pool struct {
	ID, Name, Region, Authority string
	ShareAcrossOrgs             bool
	DefaultPolicy               Policy
}
