package place

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

func TestSeatRefusesWhatOverlaps(t *testing.T) {
	t.Parallel()
	p := testPool(testNode(t, "n1", h100, 1))
	row := func(id string, kind Kind, start, size int) SeatRow {
		return SeatRow{ID: id, Member: "m", Node: "n1", GPU: "n1-0", Kind: kind, Profile: "1g.10gb", Placement: mig.Placement{Start: start, Size: size}}
	}
	require.NoError(t, p.Seat(row("a", KindMIG, 0, 1)))
	require.ErrorIs(t, p.Seat(row("a", KindMIG, 1, 1)), ErrDuplicate)
	require.ErrorIs(t, p.Seat(row("b", KindMIG, 0, 1)), ErrOccupied)
	require.ErrorIs(t, p.Seat(row("b", KindWhole, 0, 0)), ErrOccupied)
	p.Free("a")
	require.NoError(t, p.Seat(row("b", KindWhole, 0, 0)))
	require.ErrorIs(t, p.Seat(row("c", KindMIG, 5, 1)), ErrOccupied)
}

func TestANodeThatComesBackSmallerSellsNothingUntilItFits(t *testing.T) {
	t.Parallel()
	n := testNode(t, "n1", h100, 2)
	r := &renter{pool: testPool(n)}
	first, _ := r.rent(t, one(whole("h100-80gb", 1)))

	n.CPUMilli = 4000 // under the 8000 of the member
	r.pool.PutNode(n)
	require.Empty(t, Check(r.pool.Snapshot()))
	require.True(t, r.pool.Snapshot().Nodes[0].Shrunk)
	_, e := r.pool.Plan(one(slice("h100-80gb", "1g.10gb")))
	require.Equal(t, ReasonShrunk, e.Blocked[0].Main())

	r.pool.Undo(first)
	require.False(t, r.pool.Snapshot().Nodes[0].Shrunk)
	require.Equal(t, 2, r.pool.Available(slice("h100-80gb", "1g.10gb"), 99))
}

func TestACardThatComesBackOtherwiseSellsNothingUntilItIsEmpty(t *testing.T) {
	t.Parallel()
	n := testNode(t, "n1", h100, 1)
	r := &renter{pool: testPool(n)}
	ids, d := r.rent(t, one(slice("h100-80gb", "1g.10gb")))
	require.Equal(t, "n1-0@6", at(d))

	n.Cards[0].Geometry.Profiles[0].Starts = []int{0, 1, 2} // another driver, other starts
	r.pool.PutNode(n)
	require.Empty(t, Check(r.pool.Snapshot()))
	require.True(t, r.pool.Snapshot().Nodes[0].Cards[0].Shrunk)
	_, e := r.pool.Plan(one(slice("h100-80gb", "4g.40gb")))
	require.Equal(t, map[Reason]int{ReasonShrunk: 1}, e.Blocked[0].Reasons)
	r.pool.Undo(ids)
	require.Equal(t, 3, r.pool.Available(slice("h100-80gb", "1g.10gb"), 99))
}

func TestACardThatIsGoneKeepsItsSeat(t *testing.T) {
	t.Parallel()
	n := testNode(t, "n1", h100, 2)
	r := &renter{pool: testPool(n)}
	ids, d := r.rent(t, one(whole("h100-80gb", 1)))
	require.Equal(t, "n1-0", at(d))
	gone := n
	gone.Cards = n.Cards[1:]
	r.pool.PutNode(gone)
	require.Empty(t, Check(r.pool.Snapshot()))
	require.Equal(t, 1, r.pool.Available(whole("h100-80gb", 1), 9))
	r.pool.PutNode(n) // back, and still held
	require.Equal(t, 1, r.pool.Available(whole("h100-80gb", 1), 9))
	r.pool.PutNode(gone)
	r.pool.Undo(ids)
	require.Len(t, r.pool.Snapshot().Nodes[0].Cards, 1)
}

func TestACardThatMovedTakesItsSeatAlong(t *testing.T) {
	t.Parallel()
	a, b := testNode(t, "n1", h100, 1), testNode(t, "n2", h100, 0)
	r := &renter{pool: testPool(a, b)}
	ids, _ := r.rent(t, one(slice("h100-80gb", "7g.80gb")))
	b.Cards, a.Cards = a.Cards, nil
	r.pool.PutNode(b)
	r.pool.PutNode(a)
	require.Zero(t, r.pool.Available(whole("h100-80gb", 1), 9))
	require.Equal(t, ViolationWrongNode, Check(r.pool.Snapshot())[0].Code)
	r.pool.Undo(ids)
	require.Equal(t, 1, r.pool.Available(whole("h100-80gb", 1), 9))
}

func TestRemovedNodeStaysForItsSeats(t *testing.T) {
	t.Parallel()
	r := &renter{pool: testPool(testNode(t, "n1", h100, 2), testNode(t, "n2", h100, 1))}
	r.pool.RemoveNode("n2")
	r.pool.RemoveNode("n9")
	require.Len(t, r.pool.Snapshot().Nodes, 1)
	ids, _ := r.rent(t, one(whole("h100-80gb", 1)))
	r.pool.RemoveNode("n1")
	require.Empty(t, Check(r.pool.Snapshot()))
	require.Zero(t, r.pool.Available(whole("h100-80gb", 1), 9))
	_, e := r.pool.Plan(one(whole("h100-80gb", 1)))
	require.True(t, e.Impossible)
	r.pool.Undo(ids)
	require.Empty(t, r.pool.Snapshot().Nodes)
	require.Empty(t, r.pool.cards)
	require.Empty(t, r.pool.shapes)
}

func TestSeatsBeforeTheirNode(t *testing.T) {
	t.Parallel()
	p := NewPool()
	require.NoError(t, p.Seat(SeatRow{ID: "s", Member: "m", Node: "n1", GPU: "n1-0", Kind: KindWhole}))
	p.PutMember(MemberRow{ID: "m", Node: "n1", Resources: Resources{8000, 1024}})
	require.Equal(t, []Code{ViolationUnknownCard, ViolationUnknownNode}, codes(Check(p.Snapshot())))
	p.PutNode(testNode(t, "n1", h100, 2))
	require.Empty(t, Check(p.Snapshot()))
	require.Equal(t, 1, p.Available(whole("h100-80gb", 1), 9))
	p.PutMember(MemberRow{ID: "m", Node: "n1", Resources: Resources{16000, 1024}}) // grows in place
	require.Equal(t, int64(16000), p.nodes["n1"].used.CPUMilli)
	p.FreeMember("m")
	require.Zero(t, p.nodes["n1"].used)
	require.Equal(t, 2, p.Available(whole("h100-80gb", 1), 9))
}

func TestSnapshotReplays(t *testing.T) {
	t.Parallel()
	r := &renter{pool: testPool(testNode(t, "n1", h100, 2), testNode(t, "n2", "a100-40gb", 1))}
	r.rent(t, one(slice("h100-80gb", "1g.10gb")))
	r.rent(t, one(whole("a100-40gb", 1)))
	raw, err := json.Marshal(r.pool.Snapshot())
	require.NoError(t, err)
	var s Snapshot
	require.NoError(t, json.Unmarshal(raw, &s))
	require.Equal(t, r.pool.Snapshot(), s)
	want, _ := r.pool.Plan(one(slice("h100-80gb", "2g.20gb")))
	got, _, err := Plan(s, one(slice("h100-80gb", "2g.20gb")))
	require.NoError(t, err)
	require.Equal(t, want, got)

	s.Seats = append(s.Seats, s.Seats[0])
	require.ErrorIs(t, r.pool.Load(s), ErrDuplicate)
	require.Len(t, r.pool.Snapshot().Seats, 2)
}
