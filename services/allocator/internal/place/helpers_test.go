package place

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

func testCard(t require.TestingT, id, board string) Card {
	b, ok := mig.BoardByKey(board)
	require.True(t, ok, board)
	return Card{ID: id, Model: b.Model, Policy: PolicyAuto, Sellable: true, ModeFixed: b.ResetToToggle, Geometry: b.Geometry()}
}

// testNode has cards named after it: "n1" has "n1-0", "n1-1"…
func testNode(t require.TestingT, id, board string, cards int) Node {
	n := Node{ID: id, Schedulable: true, Resources: Resources{128_000, 1 << 20}}
	for i := range cards {
		n.Cards = append(n.Cards, testCard(t, fmt.Sprintf("%s-%d", id, i), board))
	}
	return n
}

func testPool(nodes ...Node) *Pool {
	p := NewPool()
	for _, n := range nodes {
		p.PutNode(n)
	}
	return p
}

func whole(model string, count int) Want {
	return Want{Offering: model + ".whole", Model: model, Kind: KindWhole, Count: count, Resources: Resources{int64(8000 * count), int64(32768 * count)}}
}

func slice(model, profile string) Want {
	return Want{Offering: model + "." + profile, Model: model, Kind: KindMIG, Profile: profile, Count: 1, Resources: Resources{2000, 8192}}
}

func one(wants ...Want) Request { return Request{Nodes: 1, Offerings: wants} }

// rent plans and applies, as members m1, m2…
type renter struct {
	pool *Pool
	n    int
}

func (r *renter) ids(d Decision) []IDs {
	var ids []IDs
	for _, m := range d.Members {
		r.n++
		id := IDs{Member: fmt.Sprintf("m%03d", r.n)}
		for i := range m.Seats {
			id.Seats = append(id.Seats, fmt.Sprintf("%s-s%d", id.Member, i))
		}
		ids = append(ids, id)
	}
	return ids
}

func (r *renter) rent(t require.TestingT, req Request) ([]IDs, Decision) {
	d, e := r.pool.Plan(req)
	require.Equal(t, d.OK(), e.Fits)
	if !d.OK() {
		return nil, d
	}
	ids := r.ids(d)
	require.NoError(t, r.pool.Apply(d, ids))
	return ids, d
}

// at names where a one-member decision went: "n1-0@4", "n1-0+n1-1", or "" for nowhere.
func at(d Decision) string {
	if !d.OK() {
		return ""
	}
	s := ""
	for _, seat := range d.Members[0].Seats {
		if s != "" {
			s += "+"
		}
		s += seat.GPU
		if seat.Kind == KindMIG {
			s += fmt.Sprintf("@%d", seat.Placement.Start)
		}
	}
	return s
}

// cutAt seats MIG slices of a card at given starts, as one member without vCPU or RAM.
func cutAt(t require.TestingT, p *Pool, nodeID, gpu string, at ...SeatRow) {
	member := "by-hand-" + gpu
	p.PutMember(MemberRow{ID: member, Node: nodeID})
	for i, s := range at {
		s.ID, s.Member, s.Node, s.GPU, s.Kind = fmt.Sprintf("%s-%d", member, i), member, nodeID, gpu, KindMIG
		require.NoError(t, p.Seat(s))
	}
}

func span1(profile string, start, size int) SeatRow {
	return SeatRow{Profile: profile, Placement: mig.Placement{Start: start, Size: size}}
}
