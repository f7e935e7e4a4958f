package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kit/pg"
)

// batch bounds one pass, so that its transaction stays short.
const batch = 5000

const (
	waiting = `SELECT EXISTS (SELECT FROM outbox WHERE pos IS NULL)`

	// A pass that hangs must not hold the others up for long: its session is ended.
	impatient = `SELECT set_config('idle_in_transaction_session_timeout', '5s', true)`
	tryLock   = `SELECT pg_try_advisory_xact_lock(hashtextextended(current_schema() || '.outbox', 0))`
	waitLock  = `SELECT true FROM pg_advisory_xact_lock(hashtextextended(current_schema() || '.outbox', 0))`

	// sequence gives the oldest committed items without a position the next ones of their
	// feed. It must be a statement of its own after the lock: its snapshot then holds all
	// that earlier passes did.
	sequence = `WITH fresh AS MATERIALIZED (
			SELECT seq, feed FROM outbox WHERE pos IS NULL ORDER BY seq LIMIT ?
		), counts AS (
			SELECT feed, count(*) AS n FROM fresh GROUP BY feed
		), heads AS (
			INSERT INTO feed_head AS h (feed, pos) SELECT feed, n FROM counts
			ON CONFLICT (feed) DO UPDATE SET pos = h.pos + EXCLUDED.pos RETURNING h.feed, h.pos
		), numbered AS (
			SELECT f.seq, heads.pos - counts.n + row_number() OVER (PARTITION BY f.feed ORDER BY f.seq) AS pos
			FROM fresh f JOIN counts USING (feed) JOIN heads USING (feed)
		)
		UPDATE outbox o SET pos = n.pos FROM numbered n WHERE o.seq = n.seq`
)

// pass gives every item that was committed before the call its position. If another
// process is at it, it waits for that one (wait) or leaves it to it.
func (f *Feeds) pass(ctx context.Context, wait bool) error {
	began := map[string]time.Time{} // read before the snapshots below are taken
	for name, s := range f.specs {
		began[name] = s.AsOf.Now()
	}
	for {
		n, mine, err := f.passOnce(ctx, wait)
		if n > 0 {
			f.announce()
		}
		switch {
		case err != nil:
			return fmt.Errorf("sequence the feeds: %w", err)
		case !mine:
			return nil
		case n < batch:
			f.passed(began)
			return nil
		}
	}
}

// passOnce reports how many items it sequenced and whether the pass was its to make.
func (f *Feeds) passOnce(ctx context.Context, wait bool) (n int64, mine bool, err error) {
	err = f.db.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		n, mine = 0, false
		var any bool
		if err := tx.Raw(waiting).Scan(&any).Error; err != nil {
			return err
		}
		if !any { // nor does a pass in flight hold anything: its items would still be waiting
			mine = true
			return nil
		}
		if err := tx.Exec(impatient).Error; err != nil {
			return err
		}
		lock := tryLock
		if wait {
			lock = waitLock
		}
		if err := tx.Raw(lock).Scan(&mine).Error; err != nil || !mine {
			return err
		}
		r := tx.Exec(sequence, batch)
		n = r.RowsAffected
		return r.Error
	})
	if err != nil {
		return 0, false, err
	}
	return n, mine, nil
}

// prune deletes the items that are past retention. It keeps the newest of those: the
// position at which a reader stands whose lag is within retention.
func (f *Feeds) prune(ctx context.Context) error {
	const old = `WITH oldest AS (
			SELECT seq, pos, written_at FROM outbox WHERE feed = ? AND pos IS NOT NULL ORDER BY pos LIMIT ?
		), kept AS (
			SELECT max(pos) AS pos FROM oldest WHERE written_at < now() - make_interval(secs => ?)
		)
		DELETE FROM outbox WHERE seq IN (SELECT oldest.seq FROM oldest, kept WHERE oldest.pos < kept.pos)`
	for _, name := range f.names {
		for more := true; more; {
			err := f.db.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
				r := tx.Exec(old, name, batch, f.specs[name].Keep.Seconds())
				more = r.RowsAffected > 0
				return r.Error
			})
			if err != nil {
				return fmt.Errorf("prune feed %s: %w", name, err)
			}
		}
	}
	return nil
}
