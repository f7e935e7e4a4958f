package domain

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// Report is what a node's agent says of its members, under one boot.
type Report struct {
	Node, Boot string
	Seq        int64
	Full       bool // lists every member the node knows
	Members    []Observed
}

// Session is what was last heard from a node's agent.
type Session struct {
	Node, Boot  string
	Seq         int64
	ProofAt     time.Time       // the last report received
	Incarnation string          // of our schema, under which its full report was merged
	Left        map[string]bool // boots that the node has left behind
	Heard       time.Time       // ProofAt on the real clock; kept in memory only
}

// Orphan is work on a card that no live member explains. Its card sells nothing.
type Orphan struct {
	ID, Node, GPUUUID, Member, Boot string
	Kind                            Kind
	Profile                         string
	Start, Size                     *int
	FoundAt                         time.Time
	ReleasedAt                      *time.Time
}

// Merged is what a report changed.
type Merged struct {
	Steps        []Step
	Changed      []*Member // any of their fields or seats
	LeftBoot     string    // the boot that this report ended
	NewOrphans   []*Orphan
	FreedOrphans []*Orphan
	Acknowledged []string
	NewBoot      bool
	Fresh        bool // the full report that ends recovering
}

// Accept refuses a report that is older than what was heard.
func (s *Session) Accept(r Report) error {
	switch {
	case s.Left[r.Boot]:
		return fault.New(fault.Conflict, "This report is of a boot that the node has left behind.")
	case r.Boot == s.Boot && r.Seq < s.Seq:
		return fault.New(fault.Conflict, "A later report of this boot was merged before.")
	case r.Boot != s.Boot && !r.Full:
		return fault.New(fault.Conflict, "The first report of a boot must be full.")
	}
	return nil
}
