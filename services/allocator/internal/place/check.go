package place

import (
	"cmp"
	"slices"
)

// Code names a broken invariant.
type Code string

const (
	ViolationOverlap       Code = "overlap"       // two spans of a card share a unit, or a whole card is held twice
	ViolationMixed         Code = "mixed_kinds"   // a card is held whole and cut
	ViolationIllegalStart  Code = "illegal_start" // no such profile at that start in what the card reported
	ViolationUnknownCard   Code = "unknown_card"
	ViolationUnknownNode   Code = "unknown_node"
	ViolationWrongNode     Code = "wrong_node" // the card is in another node than the seat says
	ViolationTwoNodes      Code = "card_on_two_nodes"
	ViolationNodeCPU       Code = "node_cpu" // more used than reported, on a node that never shrank
	ViolationNodeMemory    Code = "node_memory"
	ViolationDuplicate     Code = "duplicate_id"
	ViolationUnknownMember Code = "unknown_member" // a seat without its member's row
	ViolationSplitMember   Code = "member_on_two_nodes"
)

// Violation is one broken invariant and where.
type Violation struct {
	Code   Code   `json:"code"`
	Node   string `json:"node,omitempty"`
	GPU    string `json:"gpu,omitempty"`
	Member string `json:"member,omitempty"`
	Seat   string `json:"seat,omitempty"`
	Other  string `json:"other,omitempty"` // the seat or node it clashes with
}

// Check lists the invariants a snapshot breaks, in a fixed order. What shrank or went missing under its seats is no
// violation: that is a fact of the hardware, and it sells nothing.
func Check(s Snapshot) []Violation {
	c := checker{nodes: map[string]Node{}, cards: map[string]Card{}, at: map[string]string{}, members: map[string]MemberRow{}}
	c.facts(s.Nodes)
	c.usage(s.Nodes, s.Members)
	c.seats(s.Seats)
	slices.SortStableFunc(c.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Node, b.Node), cmp.Compare(a.GPU, b.GPU),
			cmp.Compare(a.Member, b.Member), cmp.Compare(a.Seat, b.Seat), cmp.Compare(a.Other, b.Other))
	})
	return c.found
}

type checker struct {
	nodes   map[string]Node
	cards   map[string]Card
	at      map[string]string // card → node
	members map[string]MemberRow
	found   []Violation
}

func (c *checker) facts(nodes []Node) {
	for _, n := range nodes {
		if _, ok := c.nodes[n.ID]; ok {
			c.found = append(c.found, Violation{Code: ViolationDuplicate, Node: n.ID})
		}
		c.nodes[n.ID] = n
		for _, card := range n.Cards {
			if other, ok := c.at[card.ID]; ok {
				c.found = append(c.found, Violation{Code: ViolationTwoNodes, Node: n.ID, GPU: card.ID, Other: other})
			}
			c.cards[card.ID], c.at[card.ID] = card, n.ID
		}
	}
}

func (c *checker) usage(nodes []Node, members []MemberRow) {
	used := map[string]Resources{}
	for _, m := range members {
		if _, ok := c.members[m.ID]; ok {
			c.found = append(c.found, Violation{Code: ViolationDuplicate, Member: m.ID})
		}
		if _, ok := c.nodes[m.Node]; !ok {
			c.found = append(c.found, Violation{Code: ViolationUnknownNode, Node: m.Node, Member: m.ID})
		}
		c.members[m.ID] = m
		used[m.Node] = used[m.Node].plus(m.Resources)
	}
	for _, n := range nodes {
		if u := used[n.ID]; !n.Shrunk && u.CPUMilli > n.CPUMilli {
			c.found = append(c.found, Violation{Code: ViolationNodeCPU, Node: n.ID})
		}
		if u := used[n.ID]; !n.Shrunk && u.MemoryMiB > n.MemoryMiB {
			c.found = append(c.found, Violation{Code: ViolationNodeMemory, Node: n.ID})
		}
	}
}

func (c *checker) seats(seats []SeatRow) {
	ids, on := map[string]bool{}, map[string][]SeatRow{}
	for _, s := range seats {
		add := func(code Code, other string) {
			c.found = append(c.found, Violation{Code: code, Node: s.Node, GPU: s.GPU, Member: s.Member, Seat: s.ID, Other: other})
		}
		if ids[s.ID] {
			add(ViolationDuplicate, "")
		}
		ids[s.ID] = true
		if card, ok := c.cards[s.GPU]; !ok {
			add(ViolationUnknownCard, "")
		} else {
			if c.at[s.GPU] != s.Node {
				add(ViolationWrongNode, c.at[s.GPU])
			}
			if s.Kind == KindMIG && !card.Shrunk && !card.Missing && !card.Geometry.Legal(s.Profile, s.Placement) {
				add(ViolationIllegalStart, "")
			}
		}
		if m, ok := c.members[s.Member]; !ok {
			add(ViolationUnknownMember, "")
		} else if m.Node != s.Node {
			add(ViolationSplitMember, m.Node)
		}
		for _, o := range on[s.GPU] {
			if s.Kind != o.Kind {
				add(ViolationMixed, o.ID)
			} else if s.overlaps(o) {
				add(ViolationOverlap, o.ID)
			}
		}
		on[s.GPU] = append(on[s.GPU], s)
	}
}
