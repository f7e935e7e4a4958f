package place

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

func codes(vs []Violation) []Code {
	var cs []Code
	for _, v := range vs {
		cs = append(cs, v.Code)
	}
	return cs
}

func TestCheckFindsEachViolation(t *testing.T) {
	t.Parallel()
	seat := func(id string, start int) SeatRow {
		return SeatRow{ID: id, Member: "m", Node: "n1", GPU: "n1-0", Kind: KindMIG, Profile: "1g.10gb", Placement: mig.Placement{Start: start, Size: 1}}
	}
	for code, change := range map[Code]func(*Snapshot){
		"":                    func(*Snapshot) {},
		ViolationOverlap:      func(s *Snapshot) { s.Seats = append(s.Seats, seat("b", 0)) },
		ViolationIllegalStart: func(s *Snapshot) { s.Seats[0].Placement.Start = 7 },
		ViolationMixed: func(s *Snapshot) {
			s.Seats = append(s.Seats, SeatRow{ID: "b", Member: "m", Node: "n1", GPU: "n1-0", Kind: KindWhole})
		},
		ViolationUnknownCard:   func(s *Snapshot) { s.Seats[0].GPU = "n1-9" },
		ViolationUnknownNode:   func(s *Snapshot) { s.Members = append(s.Members, MemberRow{ID: "x", Node: "n9"}) },
		ViolationTwoNodes:      func(s *Snapshot) { s.Nodes[1].Cards = s.Nodes[0].Cards[1:] },
		ViolationNodeCPU:       func(s *Snapshot) { s.Members[0].CPUMilli = 1 << 40 },
		ViolationNodeMemory:    func(s *Snapshot) { s.Members[0].MemoryMiB = 1 << 40 },
		ViolationDuplicate:     func(s *Snapshot) { s.Members = append(s.Members, s.Members[0]) },
		ViolationUnknownMember: func(s *Snapshot) { s.Seats[0].Member = "x" },
		ViolationSplitMember:   func(s *Snapshot) { s.Members[0].Node = "n2" },
		ViolationWrongNode: func(s *Snapshot) {
			s.Members[0].Node, s.Seats[0].Node = "n2", "n2"
		},
	} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			s := Snapshot{Nodes: []Node{testNode(t, "n1", h100, 2), testNode(t, "n2", h100, 0)},
				Members: []MemberRow{{ID: "m", Node: "n1", Resources: Resources{1000, 1024}}}, Seats: []SeatRow{seat("a", 0)}}
			change(&s)
			if code == "" {
				require.Empty(t, Check(s))
				return
			}
			require.Equal(t, []Code{code}, codes(Check(s)))
		})
	}
}
