package place

import "github.com/weirhq/weir/pkg/kernel/mig"

// Kind is what a member holds of its cards.
type Kind string

const (
	KindWhole Kind = "whole"
	KindMIG   Kind = "mig"
	KindCPU   Kind = "cpu" // no card: only the node's vCPU and RAM
)

// Want is one offering the request would accept, for each of its members.
type Want struct {
	Offering  string `json:"offering"`
	Model     string `json:"model,omitempty"`
	Kind      Kind   `json:"kind"`
	Profile   string `json:"profile,omitempty"`
	Count     int    `json:"count"` // cards of one member, all on one node; 1 for MIG, 0 for CPU
	Resources        // of one member in total
}

// Request asks for Nodes members on as many distinct nodes, all or nothing.
type Request struct {
	Nodes     int      `json:"nodes"`
	Offerings []Want   `json:"offerings"`       // in the order of preference: the first that fits is taken
	Only      []string `json:"only,omitempty"`  // nodes it is bound to; none: any
	Avoid     []string `json:"avoid,omitempty"` // nodes it must not use
}

// Decision is where a request goes. The zero Decision places nothing.
type Decision struct {
	Offering string   `json:"offering"`
	Want     int      `json:"want"` // index into Request.Offerings
	Members  []Placed `json:"members"`
}

// Placed is one member's node and seats.
type Placed struct {
	Node  string        `json:"node"`
	Seats []PlannedSeat `json:"seats,omitempty"`
	Resources
}

// PlannedSeat is a seat without its id.
type PlannedSeat struct {
	GPU       string        `json:"gpu"`
	Kind      Kind          `json:"kind"`
	Profile   string        `json:"profile,omitempty"`
	Placement mig.Placement `json:"placement,omitzero"` // of MIG; whole has no span of its own
}

// OK reports whether the request was placed.
func (d Decision) OK() bool { return len(d.Members) > 0 }

func (w Want) valid() bool {
	if w.CPUMilli < 0 || w.MemoryMiB < 0 {
		return false
	}
	switch w.Kind {
	case KindWhole:
		return w.Model != "" && w.Count >= 1
	case KindMIG: // CUDA sees one MIG device per process, so one slice per member
		return w.Model != "" && w.Profile != "" && w.Count == 1
	case KindCPU:
		return w.Count == 0
	default:
		return false
	}
}
