package outbox_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
)

func TestSyncAppliesEverythingCommittedBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.sink(nil)
	for n := range 3 {
		b.put(3*n+1, 3*n+2, 3*n+3)
		before := time.Now()
		require.NoError(t, s.Sync(t.Context()))
		require.Equal(t, upTo(3*n+3), s.applied(t))
		require.False(t, s.AsOf().Before(before.UTC()))
	}
	require.Equal(t, upTo(9), s.hooks())
	asOf := s.AsOf()
	require.NoError(t, s.Sync(t.Context()))
	require.True(t, s.AsOf().After(asOf), "time moves without items")
}

// Whatever happens between applying and the commit, each fact takes effect once.
func TestCrashesBetweenApplyAndCommit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.sink(nil)
	b.put(1, 2)
	s.fail = func(*pg.Tx, []outbox.Item) error { return errors.New("killed") }
	require.Error(t, s.Sync(t.Context()))
	require.Empty(t, s.applied(t))

	s.fail = func(tx *pg.Tx, _ []outbox.Item) error { // the connection dies: PostgreSQL restarts
		tx.Exec(`SELECT pg_terminate_backend(pg_backend_pid())`)
		return nil
	}
	require.Error(t, s.Sync(t.Context()))
	require.Empty(t, s.applied(t))
	require.Empty(t, s.hooks(), "memory follows commits only")

	ctx, cancel := context.WithCancel(t.Context())
	s.fail = func(*pg.Tx, []outbox.Item) error { cancel(); return nil }
	require.Error(t, s.Sync(ctx))

	s.fail = nil
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, upTo(2), s.applied(t))
	// The process is gone after the commit, before its memory knew: a new one goes on.
	next := b.sink(nil)
	b.put(3)
	require.NoError(t, next.Sync(t.Context()))
	require.Equal(t, upTo(3), next.applied(t))
	require.Equal(t, []int{3}, next.hooks())
}

func TestTwoProcessesApplyOnceAndBothHearAll(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.runWorkers()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	sinks := []*sink{b.sink(nil), b.sink(nil)}
	for _, s := range sinks {
		require.NoError(t, s.Sync(ctx)) // both stand at the beginning
	}
	for _, s := range sinks {
		wg.Go(func() { _ = s.Run(ctx) })
		wg.Go(func() {
			for ctx.Err() == nil { // Sync beside Run
				_ = s.Sync(ctx)
			}
		})
	}
	const n = 60
	for i := range n {
		b.put(i + 1)
	}
	for _, s := range sinks {
		require.Eventually(t, func() bool { return len(s.hooks()) == n }, 20*time.Second, 10*time.Millisecond)
	}
	stop()
	wg.Wait()
	require.Equal(t, upTo(n), sinks[0].applied(t))
	for _, s := range sinks {
		require.Equal(t, upTo(n), s.hooks(), "in order")
	}
}

func TestGoneIsListedThenWatched(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var listed []int
	s := b.sink(func(_ context.Context, _ *pg.Tx, items []outbox.Item) error {
		listed = append(listed, values(t, items)...)
		return nil
	})
	b.put(1, 2)
	require.NoError(t, s.Sync(t.Context()))
	b.list = func(context.Context) ([]outbox.Item, error) {
		return []outbox.Item{{Key: "k", Data: []byte("20")}}, nil
	}

	// A restored backup under a new incarnation.
	require.NoError(t, outbox.RestoreIncarnation(t.Context(), b.work))
	b.put(3)
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, []int{20}, listed)
	b.put(4)
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, []int{1, 2, 4}, s.applied(t), "3 is in the list")
	require.Equal(t, []int{1, 2, 20, 4}, s.hooks())

	// A backup restored without one: the head is below the cursor.
	require.NoError(t, b.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return errors.Join(tx.Exec(`DELETE FROM outbox WHERE pos > 2`).Error, tx.Exec(`UPDATE feed_head SET pos = 2`).Error)
	}))
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, []int{20, 20}, listed)
	b.put(5)
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, []int{1, 2, 4, 5}, s.applied(t))
}

func TestRunOutlivesItsSource(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.runWorkers()
	s := b.sink(nil)
	fails := 2
	s.fail = func(*pg.Tx, []outbox.Item) error {
		if fails--; fails >= 0 {
			return errors.New("not now")
		}
		return nil
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	b.put(1, 2, 3)
	require.Eventually(t, func() bool { return len(s.hooks()) == 3 }, 20*time.Second, 10*time.Millisecond)
	stop()
	require.NoError(t, <-done)
	require.Equal(t, upTo(3), s.applied(t))
}
