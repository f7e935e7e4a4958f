package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

func newStore(t *testing.T) (*Store, domain.Term) {
	d := pgtest.New(t, Schema)
	s := New(pgtest.Open(t, d, Schema, pg.API, 4), pgtest.Open(t, d, Schema, pg.Work, 4))
	term, err := s.Lead(t.Context(), "here")
	require.NoError(t, err)
	t.Cleanup(func() { _ = term.Close() })
	return s, term
}

func batch(no int64, node ...domain.NodeUsage) *domain.Batch {
	return &domain.Batch{No: no, Nodes: node, At: time.Now()}
}

func TestCapacityIsNotForTheWriterToRaise(t *testing.T) {
	t.Parallel()
	s, term := newStore(t)
	commit := func(used, reported int64) error {
		return s.Commit(t.Context(), term.Epoch(), batch(1, domain.NodeUsage{Node: "n", VCPUsUsed: used, VCPUsReported: reported, RAMReported: 10}))
	}
	require.NoError(t, commit(0, 8))
	require.NoError(t, commit(8, 8))
	var v *domain.Violation
	require.ErrorAs(t, commit(9, 8), &v)
	require.Equal(t, "node_usage_vcpus", v.Constraint)
	require.NoError(t, commit(8, 4), "it came back smaller and keeps what sits on it")
	require.ErrorAs(t, commit(9, 4), &v)
	require.NoError(t, commit(6, 4))
	require.ErrorAs(t, commit(7, 4), &v, "what was given back is not taken again")
	require.NoError(t, commit(4, 4))
	require.NoError(t, commit(6, 8))
}

func TestCommitsAreFenced(t *testing.T) {
	t.Parallel()
	s, old := newStore(t)
	require.NoError(t, s.Commit(t.Context(), old.Epoch(), batch(1)))
	none, err := s.Lead(t.Context(), "there")
	require.NoError(t, err)
	require.Nil(t, none, "one leads at a time")
	require.NoError(t, old.Renew(t.Context()))
	require.NoError(t, old.Close())
	var next domain.Term
	require.Eventually(t, func() bool {
		next, err = s.Lead(t.Context(), "there")
		return err == nil && next != nil
	}, 10*time.Second, 5*time.Millisecond)
	defer next.Close()
	require.Greater(t, next.Epoch(), old.Epoch())
	require.ErrorIs(t, s.Commit(t.Context(), old.Epoch(), batch(2)), domain.ErrFenced)
	_, err = s.Outcome(t.Context(), old.Epoch(), 2)
	require.ErrorIs(t, err, domain.ErrFenced)
	committed, err := s.Outcome(t.Context(), next.Epoch(), 1)
	require.NoError(t, err)
	require.False(t, committed, "another term's batch of that number")
	require.NoError(t, s.Commit(t.Context(), next.Epoch(), batch(3)))
	committed, err = s.Outcome(t.Context(), next.Epoch(), 3)
	require.NoError(t, err)
	require.True(t, committed)
}

// A takeover waits for a commit in flight, which then is in; a plain read would miss it.
func TestTakeoverWaitsForACommitInFlight(t *testing.T) {
	t.Parallel()
	s, old := newStore(t)
	holding, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
			if err := Fence(tx, old.Epoch()); err != nil {
				return err
			}
			close(holding)
			<-goOn
			_, err := exec(tx, `UPDATE writer_mark SET epoch = $1, batch = 7`, old.Epoch())
			return err
		})
	}()
	<-holding
	require.NoError(t, old.Close())
	took := make(chan domain.Term, 1)
	go func() {
		for {
			next, err := s.Lead(t.Context(), "there")
			if err != nil {
				t.Error(err)
			}
			if next != nil || err != nil {
				took <- next
				return
			}
		}
	}()
	// The candidate has the lock and waits for the row.
	require.Eventually(t, func() bool {
		waiting := 0
		err := s.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
			return scan(tx, []any{&waiting}, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)
		})
		return err == nil && waiting == 1
	}, 10*time.Second, 5*time.Millisecond)
	require.Empty(t, took)
	close(goOn)
	require.NoError(t, <-done)
	next := <-took
	defer next.Close()
	img, err := s.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(7), img.Batch, "loaded after the commit")
}

func TestDriftIsNoticed(t *testing.T) {
	t.Parallel()
	s, term := newStore(t)
	change := func(before, after int64) error {
		b := batch(1)
		b.Usage = map[string]domain.UsageChange{"org_a": {Before: domain.Usage{Instances: before}, After: domain.Usage{Instances: after}}}
		return s.Commit(t.Context(), term.Epoch(), b)
	}
	require.NoError(t, change(0, 2))
	require.ErrorIs(t, change(1, 2), domain.ErrDrift)
	require.NoError(t, change(2, 0))
}

// A leader that was stopped in the middle of its transaction holds the lease row: the server
// ends that transaction, and the takeover goes on.
func TestTakeoverFromALeaderStoppedInItsTransaction(t *testing.T) {
	t.Parallel()
	s, old := newStore(t)
	holding, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
			if err := Fence(tx, old.Epoch()); err != nil {
				return err
			}
			close(holding)
			<-goOn
			_, err := exec(tx, `UPDATE writer_mark SET batch = 9`)
			return err
		})
	}()
	<-holding
	var next domain.Term
	require.Eventually(t, func() bool { // the lease is stale after 5 s, the transaction ended after 5 s
		var err error
		next, err = s.Lead(t.Context(), "there")
		return err == nil && next != nil
	}, 25*time.Second, 100*time.Millisecond)
	defer next.Close()
	close(goOn)
	require.Error(t, <-done)
	img, err := s.Load(t.Context())
	require.NoError(t, err)
	require.Zero(t, img.Batch)
}
