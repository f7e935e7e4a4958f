package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kit/pg"
)

// stored is the consumer's row in feed_cursor.
type stored struct {
	Incarnation string
	Pos         int64
	Item        string
	AsOf        time.Time
}

func (s stored) cursor() Cursor { return Cursor{s.Incarnation, s.Pos, s.Item} }

// reaches reports whether everything up to the cursor was applied already.
func (s stored) reaches(c Cursor) bool { return s.Incarnation == c.Incarnation && s.Pos >= c.Pos }

// lock takes the cursor's row, so that the consumers of several processes take turns.
func (c *Consumer) lock(tx *pg.Tx) (stored, error) {
	const first = `INSERT INTO feed_cursor (source, feed, incarnation, pos, item, as_of) VALUES (?, ?, '', 0, '', to_timestamp(0)) ON CONFLICT DO NOTHING`
	const read = `SELECT incarnation, pos, item, as_of FROM feed_cursor WHERE source = ? AND feed = ? FOR UPDATE`
	var s stored
	if err := tx.Exec(first, c.source, c.feed).Error; err != nil {
		return s, err
	}
	return s, tx.Raw(read, c.source, c.feed).Scan(&s).Error
}

func (c *Consumer) store(tx *pg.Tx, at Cursor, asOf time.Time) error {
	const update = `UPDATE feed_cursor SET incarnation = ?, pos = ?, item = ?, as_of = ? WHERE source = ? AND feed = ?`
	return tx.Exec(update, at.Incarnation, at.Pos, at.Item, asOf, c.source, c.feed).Error
}

// take applies an answer that follows the cursor from. Parts of it may have been applied
// meanwhile, by this process (Sync beside Run) or another: those are not applied again,
// but this process's hooks still see what they have not seen.
func (c *Consumer) take(ctx context.Context, from Cursor, a *answer) error {
	to, err := ParseCursor(a.Cursor)
	if err != nil {
		return fmt.Errorf("feed %s.%s: %w", c.source, c.feed, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at != from && (c.at.Incarnation != to.Incarnation || c.at.Pos >= to.Pos) {
		return nil // this process went on meanwhile, past the answer or to another incarnation
	}
	if to == from && len(a.Items) == 0 {
		return c.idle(ctx, a.AsOf)
	}
	asOf := c.asOf
	err = c.db.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		s, err := c.lock(tx)
		if err != nil {
			return err
		}
		asOf = latest(c.asOf, s.AsOf)
		if !a.Truncated {
			asOf = latest(asOf, a.AsOf)
		}
		if s.reaches(to) {
			return nil
		}
		if s.cursor() != from && (s.Incarnation != to.Incarnation || s.Pos < from.Pos) {
			c.known = false // another process listed anew: continue from there
			return fmt.Errorf("the cursor of feed %s.%s was moved to %q", c.source, c.feed, s.cursor())
		}
		if err := c.apply(ctx, tx, behind(a.Items, s.Pos), asOf); err != nil {
			return fmt.Errorf("apply items of feed %s.%s: %w", c.source, c.feed, err)
		}
		return c.store(tx, to, asOf)
	})
	if err != nil {
		return err
	}
	unseen := behind(a.Items, c.at.Pos)
	c.at, c.asOf = to, asOf
	c.tell(unseen)
	return nil
}

// idle notes that nothing new was committed before asOf. The consumer hears of it too:
// watermarks move by it.
func (c *Consumer) idle(ctx context.Context, asOf time.Time) error {
	if !asOf.After(c.asOf) {
		return nil
	}
	err := c.db.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		s, err := c.lock(tx)
		if err != nil || s.cursor() != c.at || !asOf.After(s.AsOf) {
			return err // others are ahead; the next pull catches up
		}
		if err := c.apply(ctx, tx, nil, asOf); err != nil {
			return fmt.Errorf("apply the time of feed %s.%s: %w", c.source, c.feed, err)
		}
		return c.store(tx, s.cursor(), asOf)
	})
	if err != nil {
		return err
	}
	c.asOf = asOf
	c.tell(nil)
	return nil
}

// startOver lists the feed, which could not be continued from the cursor from, and goes on
// from the list's cursor.
func (c *Consumer) startOver(ctx context.Context, from Cursor) error {
	a, err := c.remote.list(ctx)
	if err != nil {
		return err
	}
	to, err := ParseCursor(a.Cursor)
	if err != nil {
		return fmt.Errorf("list of feed %s.%s: %w", c.source, c.feed, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at != from {
		return nil // Sync or Run beside us has done it
	}
	asOf := a.AsOf
	err = c.db.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		s, err := c.lock(tx)
		if err != nil {
			return err
		}
		asOf = latest(a.AsOf, s.AsOf)
		if s.cursor() != from && s.reaches(to) {
			return nil // another process listed and went on: our list is the older state
		}
		if err := c.applyList(ctx, tx, a.Items, asOf); err != nil {
			return fmt.Errorf("apply the list of feed %s.%s: %w", c.source, c.feed, err)
		}
		return c.store(tx, to, asOf)
	})
	if err != nil {
		return err
	}
	c.at, c.asOf, c.known = to, asOf, true
	c.tell(a.Items)
	return nil
}

func (c *Consumer) applyList(ctx context.Context, tx *pg.Tx, items []Item, asOf time.Time) error {
	if c.relist == nil {
		return c.apply(ctx, tx, items, asOf)
	}
	return c.relist(ctx, tx, items)
}

// tell hands committed items to the hooks; the caller holds mu.
func (c *Consumer) tell(items []Item) {
	for _, h := range c.hooks {
		h(items, c.asOf)
	}
}

// behind are the items after a position.
func behind(items []Item, pos int64) []Item {
	for i, it := range items {
		if it.Pos > pos {
			return items[i:]
		}
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b.UTC()
}
