package pg_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
)

func TestDeadlocksAreRetried(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "tenant"), "tenant", pg.Work, 4)
	for _, k := range []string{"1", "2"} {
		require.NoError(t, insert(t, db, pg.Scope{}, "org_a", k))
	}
	var both sync.WaitGroup // both hold their first row before either asks for its second
	both.Add(2)
	var wg sync.WaitGroup
	runs := make([]int, 2)
	commits := make([]int, 2)
	for i, order := range [][2]string{{"1", "2"}, {"2", "1"}} {
		wg.Go(func() {
			err := db.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
				runs[i]++
				tx.AfterCommit(func() { commits[i]++ })
				if err := tx.Exec(`UPDATE idempotency SET status = 1 WHERE key = ?`, order[0]).Error; err != nil {
					return err
				}
				if runs[i] == 1 {
					both.Done()
					both.Wait()
				}
				return tx.Exec(`UPDATE idempotency SET status = 2 WHERE key = ?`, order[1]).Error
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// At least once more each time one lost: a rerun may meet the winner again before it ends.
	require.GreaterOrEqual(t, runs[0]+runs[1], 3, "the loser ran again")
	require.Equal(t, []int{1, 1}, commits, "what follows the commit ran once")
}

func TestSerializationFailuresAreRetriedOnlySoOften(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "tenant"), "tenant", pg.Work, 2)
	runs := 0
	err := db.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		runs++
		return tx.Exec(`DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$`).Error
	})
	require.ErrorContains(t, err, "again")
	require.Equal(t, 6, runs)

	ctx, cancel := context.WithCancel(t.Context())
	runs = 0
	err = db.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		runs++
		err := &retryMe{tx.Exec(`DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$`).Error}
		cancel()
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, runs)
}

type retryMe struct{ err error }

func (r *retryMe) Error() string { return "wrapped" }
func (r *retryMe) Unwrap() error { return r.err }

func TestASwallowedErrorIsNoSuccess(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "tenant"), "tenant", pg.Work, 1)
	err := db.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		tx.Exec(insertKey, "org_a", "1")
		tx.Exec(insertKey, "org_a", "1") // a duplicate, ignored
		return nil
	})
	require.ErrorContains(t, err, "ignored")
	require.Empty(t, orgsSeen(t, db, pg.Scope{}))
}

func TestConstraintAndCAS(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "tenant"), "tenant", pg.Work, 1)
	require.NoError(t, insert(t, db, pg.Scope{}, "org_a", "1"))
	err := insert(t, db, pg.Scope{}, "org_a", "1")
	require.Equal(t, "idempotency_pkey", pg.Constraint(err))
	require.Equal(t, "idempotency_org", pg.Constraint(insert(t, db, pg.Scope{}, "", "1")))
	require.Empty(t, pg.Constraint(errors.New("other")))
	require.NoError(t, pg.CAS(1, nil))
	require.ErrorIs(t, pg.CAS(0, nil), fault.Stale)
	require.Equal(t, err, pg.CAS(0, err))
}

func TestDeadlinesAreHonoured(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "tenant"), "tenant", pg.Work, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := db.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error { return tx.Exec(`SELECT pg_sleep(20)`).Error })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, fault.Unavailable, "the caller gave up, the database did not")
	require.Less(t, time.Since(began), 5*time.Second)

	// The caller gives up between the last statement and the commit: it is not committed.
	ctx, cancel = context.WithCancel(t.Context())
	err = db.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		err := tx.Exec(insertKey, "org_a", "1").Error
		cancel()
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, orgsSeen(t, db, pg.Scope{}))

	// Waiting for a connection counts too.
	busy, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- db.InTx(t.Context(), pg.Scope{}, func(*pg.Tx) error { close(busy); <-release; return nil })
	}()
	<-busy
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, db.InTx(ctx, pg.Scope{}, func(*pg.Tx) error { return nil }), context.DeadlineExceeded)
	close(release)
	require.NoError(t, <-done)
}

func TestSessionLockEndsWithTheSession(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "tenant"), "tenant", pg.Work, 3)
	first, err := db.Session(t.Context())
	require.NoError(t, err)
	second, err := db.Session(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = second.Close() })
	take := func(s *pg.Session) bool {
		got, err := s.TryLock(t.Context(), "leader")
		require.NoError(t, err)
		return got
	}
	require.True(t, take(first))
	require.False(t, take(second))
	var pid int
	require.NoError(t, first.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error { return tx.Raw(`SELECT pg_backend_pid()`).Scan(&pid).Error }))
	require.Equal(t, first.PID(), pid)

	// Its successor ends it, as with a process that hangs.
	require.NoError(t, second.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error { return tx.Exec(`SELECT pg_terminate_backend(?, 5000)`, pid).Error }))
	require.True(t, take(second))
	require.ErrorIs(t, first.InTx(t.Context(), pg.Scope{}, func(*pg.Tx) error { return nil }), fault.Unavailable)
	require.Error(t, first.InTx(t.Context(), pg.Scope{}, func(*pg.Tx) error { return nil }), "it never goes on elsewhere")
	require.Error(t, first.Ping(t.Context()))
	require.NoError(t, first.Close())
	require.NoError(t, second.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error { return errors.Join(tx.Exec(insertKey, "o", "1").Error) }))
}
