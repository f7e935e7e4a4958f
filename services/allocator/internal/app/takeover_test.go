package app_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/allocator/internal/domain"
	"github.com/weirhq/weir/services/allocator/internal/store"
)

// second is another process on the same database.
func (b *bundle) second(options ...option) *bundle {
	c := &bundle{t: b.t, db: b.db, seq: b.seq, api: b.api, own: b.own, store: b.store}
	for _, o := range options {
		o(c)
	}
	c.build()
	return c
}

// stuck is a ledger that a test can freeze, as SIGSTOP would: no renewal of the lease, and
// a commit that goes on only when the process does.
type stuck struct {
	domain.Ledger
	frozen atomic.Bool
	gate   chan struct{} // closed to go on
	caught chan struct{}
	once   sync.Once
}

func newStuck() *stuck { return &stuck{gate: make(chan struct{}), caught: make(chan struct{})} }

func (s *stuck) Commit(ctx context.Context, epoch int64, b *domain.Batch) error {
	if s.frozen.Load() {
		s.once.Do(func() { close(s.caught) })
		<-s.gate
	}
	return s.Ledger.Commit(ctx, epoch, b)
}

func (s *stuck) Lead(ctx context.Context, address string) (domain.Term, error) {
	t, err := s.Ledger.Lead(ctx, address)
	if err != nil || t == nil {
		return nil, err
	}
	return stuckTerm{t, s}, nil
}

type stuckTerm struct {
	domain.Term
	s *stuck
}

func (t stuckTerm) Renew(ctx context.Context) error {
	if t.s.frozen.Load() {
		<-t.s.gate
	}
	return t.Term.Renew(ctx)
}

// SIGSTOP: the old leader holds its lock and a batch that is about to commit. The new one
// ends its session and takes over; when the old one goes on, its commit is fenced.
func TestTakeoverFromAStoppedLeader(t *testing.T) {
	t.Parallel()
	frozen := newStuck()
	b := setup(t, over(func(l domain.Ledger) domain.Ledger { frozen.Ledger = l; return frozen }))
	b.node("h100-80gb-sxm5", 1)
	org := b.org()
	kept := b.rent(org, slice)

	frozen.frozen.Store(true)
	late := make(chan error, 1)
	lateKey := newKey(org)
	go func() { _, err := b.rentWith(lateKey, org, slice); late <- err }()
	<-frozen.caught

	began := time.Now()
	c := b.second()
	c.lead()
	defer func() { c.stop() }()
	require.GreaterOrEqual(t, time.Since(began), store.StaleAfter-2*time.Second, "a lease is not stale before its time")
	mine := map[string]bool{}
	for range 6 { // the one that was about to commit did not take a place
		i := c.rent(org, slice)
		mine[fmt.Sprint(i.Members[0].Seats[0].Start)] = true
	}
	_, err := c.tryRent(org, slice)
	require.ErrorIs(t, err, fault.NoCapacity)

	close(frozen.gate)
	frozen.frozen.Store(false)
	require.ErrorIs(t, <-late, fault.Unavailable, "not acknowledged: the commit was fenced")
	require.Len(t, mine, 6)
	require.Equal(t, domain.Assigned, b.get(kept).State)
	_, err = c.rentWith(lateKey, org, slice)
	require.ErrorIs(t, err, fault.NoCapacity, "its key was not used")
}

// kill -9: the leader's session dies under load, again and again. Nobody's acknowledged
// instance is lost and no place has two owners (the bundle's check at the end).
func TestTakeoverFromAKilledLeader(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node("h100-80gb-sxm5", 8)
	org := b.org()
	// The second process keeps trying; either may lead.
	c := b.second()
	candidate := make(chan struct{})
	go func() { defer close(candidate); c.lead() }()

	var mu sync.Mutex
	acknowledged := map[string]bool{}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				from := b
				if n%2 == 1 {
					from = c
				}
				i, err := from.tryRent(org, slice)
				switch {
				case err == nil:
					mu.Lock()
					acknowledged[i.ID] = true
					mu.Unlock()
				case errors.Is(err, fault.NoCapacity), errors.Is(err, fault.Unavailable), errors.Is(err, context.Canceled):
				default:
					t.Error(err)
				}
			}
		})
	}
	db := admin(t, b.db)
	epoch := func() (n int64) {
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT epoch FROM allocator.lease`).Scan(&n))
		return n
	}
	for range 5 {
		before := epoch()
		_, err := db.ExecContext(t.Context(), `SELECT pg_terminate_backend(backend_pid) FROM allocator.lease`)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return epoch() > before }, 20*time.Second, 5*time.Millisecond)
	}
	stop()
	wg.Wait()
	b.stop()
	<-candidate
	require.Eventually(t, c.writer.Leading, 20*time.Second, time.Millisecond)
	defer func() { c.stop() }()
	for i := range acknowledged {
		got, err := b.store.Instance(t.Context(), org, i)
		require.NoError(t, err, "an acknowledged instance is lost")
		require.Equal(t, domain.Assigned, got.State)
	}
	s, err := c.app.Snapshot(t.Context())
	require.NoError(t, err)
	require.Empty(t, s.Violations)
	require.NotEmpty(t, acknowledged)
	require.GreaterOrEqual(t, len(s.Pool.Seats), len(acknowledged))
}
