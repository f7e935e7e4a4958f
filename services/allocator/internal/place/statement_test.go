package place

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatementRollsBackToItsCheckpoint(t *testing.T) {
	t.Parallel()
	r := &renter{pool: testPool(testNode(t, "n1", h100, 1))}
	ids, _ := r.rent(t, one(slice("h100-80gb", "3g.40gb")))
	before := r.pool.Snapshot()

	st := r.pool.Begin()
	st.FreeMember(ids[0].Member)
	afterFree := r.pool.Snapshot()
	cp := st.Checkpoint()
	d, _ := r.pool.Plan(one(whole("h100-80gb", 1)))
	require.True(t, d.OK(), "a what-if sees what the statement freed")
	require.NoError(t, st.Apply(d, r.ids(d)))
	st.Rollback(cp)
	require.Equal(t, afterFree, r.pool.Snapshot())
	st.Discard()
	require.Equal(t, before, r.pool.Snapshot())
}

// What stays only for its seats must survive a what-if that frees them.
func TestDiscardRestoresWhatIsMissing(t *testing.T) {
	t.Parallel()
	n := testNode(t, "n1", h100, 2)
	r := &renter{pool: testPool(n)}
	ids, _ := r.rent(t, one(whole("h100-80gb", 1)))
	n.Cards, n.CPUMilli = n.Cards[1:], 1000
	r.pool.PutNode(n)
	r.pool.RemoveNode("n1")
	before := r.pool.Snapshot()
	require.Len(t, before.Nodes[0].Cards, 1)

	st := r.pool.Begin()
	st.FreeMember(ids[0].Member)
	st.Discard()
	require.Equal(t, before, r.pool.Snapshot())

	st = r.pool.Begin()
	st.Free(ids[0].Seats[0])
	st.FreeMember(ids[0].Member)
	st.Commit()
	require.Equal(t, Snapshot{}, r.pool.Snapshot())
}

func TestApplyIsAllOrNothing(t *testing.T) {
	t.Parallel()
	r := &renter{pool: testPool(testNode(t, "n1", h100, 2), testNode(t, "n2", h100, 2))}
	d, _ := r.pool.Plan(Request{Nodes: 2, Offerings: []Want{whole("h100-80gb", 2)}})
	ids := r.ids(d)
	require.ErrorIs(t, r.pool.Apply(d, ids[:1]), ErrStale)
	cordoned := testNode(t, "n2", h100, 2)
	cordoned.Schedulable = false
	r.pool.PutNode(cordoned)
	before := r.pool.Snapshot()
	require.ErrorIs(t, r.pool.Apply(d, ids), ErrStale)
	require.Equal(t, before, r.pool.Snapshot())

	r.pool.PutNode(testNode(t, "n2", h100, 2))
	require.NoError(t, r.pool.Apply(d, ids))
	require.ErrorIs(t, r.pool.Apply(d, ids), ErrDuplicate)
}
