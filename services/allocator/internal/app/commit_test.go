package app_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// broken is a ledger whose next commits break, before or after they happened.
type broken struct {
	domain.Ledger
	after, before atomic.Int64
}

var errGone = errors.New("the connection is gone")

func (l *broken) Commit(ctx context.Context, epoch int64, b *domain.Batch) error {
	if len(b.NewInstances) == 0 {
		return l.Ledger.Commit(ctx, epoch, b)
	}
	if l.before.Add(-1) >= 0 {
		return fmt.Errorf("%w: %w", domain.ErrUnknownCommit, errGone)
	}
	err := l.Ledger.Commit(ctx, epoch, b)
	if err == nil && l.after.Add(-1) >= 0 {
		return fmt.Errorf("%w: %w", domain.ErrUnknownCommit, errGone)
	}
	return err
}

func TestUnknownOutcomeOfCommit(t *testing.T) {
	t.Parallel()
	bad := &broken{}
	b := setup(t, over(func(l domain.Ledger) domain.Ledger { bad.Ledger = l; return bad }))
	b.node("h100-80gb-sxm5", 1)
	org := b.org()
	for n, ledger := range []*atomic.Int64{&bad.after, &bad.before, &bad.after} {
		ledger.Store(1)
		i := b.rent(org, slice)
		require.Equal(t, domain.Assigned, b.get(i).State)
		require.Equal(t, 6-n, b.offer(org, slice).Available, "once, whatever the connection said")
	}
	bad.before.Store(100)
	_, err := b.tryRent(org, slice)
	require.Error(t, err, "not again and again")
	bad.before.Store(0)
	require.Equal(t, 4, b.offer(org, slice).Available)
}

// The real thing: the server's process dies while it commits.
func TestConnectionLostAtCommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node("h100-80gb-sxm5", 1)
	org := b.org()
	db := admin(t, b.db)
	_, err := db.ExecContext(t.Context(), `CREATE FUNCTION allocator.slow_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON allocator.instance DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION allocator.slow_commit()`)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { _, err := b.tryRent(org, slice); done <- err }()
	require.Eventually(t, func() bool {
		killed := false
		err := db.QueryRowContext(t.Context(), `SELECT coalesce(bool_or(pg_terminate_backend(pid)), false) FROM pg_stat_activity WHERE query = 'COMMIT' AND state = 'active' AND datname = current_database()`).Scan(&killed)
		return err == nil && killed
	}, 10*time.Second, time.Millisecond)
	_, err = db.ExecContext(t.Context(), `DROP TRIGGER slow_commit ON allocator.instance`)
	require.NoError(t, err)
	require.NoError(t, <-done, "it was planned again")
	require.Equal(t, 6, b.offer(org, slice).Available)
}

// What the writer believes of a card is wrong: the database refuses the batch, the innocent
// requests in it succeed, and nobody gets a place twice.
func TestRefusedBatchIsSplit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.checked = false // the row below is counted nowhere
	n := b.node("h100-80gb-sxm5", 1)
	org := b.org()
	first := b.rent(org, slice)
	taken := 0
	for first.Members[0].Seats[0].Start == taken {
		taken++
	}
	// Somebody writes a seat behind the writer's back.
	_, err := admin(t, b.db).ExecContext(t.Context(), `INSERT INTO allocator.seat (id, org, member, gpu, kind, span, profile, start, size, share, memory_mib, assigned_at)
		VALUES ('sea_behind', $1, $2, $3, 'mig', int4range($4::int, $4::int + 1), '1g.10gb', $4, 1, 1000, 1, now())`, org, first.Members[0].ID, n.GPUs[0].ID, taken)
	require.NoError(t, err)
	out := race(t, 7, func(int) error { _, err := b.tryRent(org, slice); return err })
	require.Equal(t, map[fault.Code]int{"": 5, fault.NoCapacity: 2}, out)
}
