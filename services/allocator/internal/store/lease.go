package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// StaleAfter is how long a leader may be without renewing its lease before another one ends
// its session and takes over.
const StaleAfter = 5 * time.Second

// lockName is the session advisory lock of the one admission writer.
const lockName = "writer"

// Term is one leader's time: the advisory lock lives as long as its session.
type Term struct {
	session *pg.Session
	epoch   int64
}

// Epoch fences the writes of this term.
func (t *Term) Epoch() int64 { return t.epoch }

// Lead tries once to become the admission writer; nil without an error when another one
// leads. address is where others find it.
func (s *Store) Lead(ctx context.Context, address string) (domain.Term, error) {
	session, err := s.work.Session(ctx)
	if err != nil {
		return nil, err
	}
	got, err := session.TryLock(ctx, lockName)
	if err == nil && !got {
		err = s.unseat(ctx)
		if err == nil {
			return nil, session.Close()
		}
	}
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	t := &Term{session: session}
	if err := t.takeOver(ctx, address); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return t, nil
}

// takeOver bumps the epoch. The lock waits for a commit of the old leader that is in
// flight, and makes every later one find itself fenced.
func (t *Term) takeOver(ctx context.Context, address string) error {
	return t.session.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		if err := scan(tx, []any{&t.epoch}, `SELECT epoch + 1 FROM lease FOR UPDATE`); err != nil {
			return fmt.Errorf("lock the lease: %w", err)
		}
		_, err := exec(tx, `UPDATE lease SET epoch = $1, backend_pid = pg_backend_pid(), renewed_at = clock_timestamp(), address = $2`, t.epoch, address)
		return err
	})
}

// Renew says that the leader lives. It fails once another one has taken over.
func (t *Term) Renew(ctx context.Context) error {
	return t.session.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		n, err := exec(tx, `UPDATE lease SET renewed_at = clock_timestamp() WHERE epoch = $1`, t.epoch)
		if err == nil && n == 0 {
			return domain.ErrFenced
		}
		return err
	})
}

// Close ends the session, and with it the lock. The lease is left to become stale at once,
// so that a successor need not wait.
func (t *Term) Close() error { return t.session.Close() }

// unseat ends the session of a leader that no longer renews: one that was killed with its
// connection left open, or stopped. Only the session that holds the lock is ended, and one
// that is just taking over is left alone.
func (s *Store) unseat(ctx context.Context) error {
	return s.work.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		_, err := exec(tx, `SELECT pg_terminate_backend(l.pid)
			FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid, lease
			WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND (l.classid::bigint << 32) | l.objid::bigint = hashtextextended($1, 0)
			AND (lease.renewed_at IS NULL OR lease.renewed_at < clock_timestamp() - make_interval(secs => $2))
			AND (l.pid = lease.backend_pid OR a.state = 'idle' AND a.state_change < clock_timestamp() - make_interval(secs => $2))`,
			Schema+"."+lockName, StaleAfter.Seconds())
		if err != nil {
			return fmt.Errorf("end a stale leader: %w", err)
		}
		return nil
	})
}
