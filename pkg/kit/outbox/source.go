package outbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/pg"
)

// Cursor is a place in a feed: that of the item, under that incarnation of the feed. The
// zero Cursor is the beginning.
type Cursor struct {
	Incarnation string
	Pos         int64
	Item        string // "" at position 0
}

// String is the cursor as the parameter after, "" for the beginning.
func (c Cursor) String() string {
	if c.Incarnation == "" {
		return ""
	}
	return c.Incarnation + ":" + strconv.FormatInt(c.Pos, 10) + ":" + c.Item
}

// ParseCursor reads the parameter after.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	parts := strings.Split(s, ":")
	if len(parts) == 3 && parts[0] != "" {
		pos, err := strconv.ParseInt(parts[1], 10, 64)
		if err == nil && pos >= 0 && (pos == 0) == (parts[2] == "") {
			return Cursor{Incarnation: parts[0], Pos: pos, Item: parts[2]}, nil
		}
	}
	return Cursor{}, fault.InvalidField("after", "must look like <incarnation>:<position>:<item>")
}

// RestoreIncarnation gives the feeds of a restored schema a new incarnation, so that readers
// who saw more than the backup holds list again. db is the work role's pool.
func RestoreIncarnation(ctx context.Context, db *pg.DB) error {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	err := db.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		r := tx.Exec(`UPDATE feed_source SET incarnation = ?`, hex.EncodeToString(b))
		if r.Error == nil && r.RowsAffected != 1 {
			return errors.New("the schema has no incarnation")
		}
		return r.Error
	})
	if err != nil {
		return fmt.Errorf("mint a new incarnation: %w", err)
	}
	return nil
}

// place is where a feed stands.
type place struct {
	Incarnation string
	Head        int64
	Item        string // the id of the item at the position asked for, or ""
}

const (
	// standing is asked for a position, or for -1: the head.
	standing = `SELECT s.incarnation, COALESCE(h.pos, 0) AS head, COALESCE(o.id, '') AS item
		FROM feed_source s LEFT JOIN feed_head h ON h.feed = ?
		LEFT JOIN outbox o ON o.feed = h.feed AND o.pos = CASE WHEN ? < 0 THEN h.pos ELSE ? END`
	following = `SELECT id, pos, feed, key, org, at, data FROM outbox WHERE feed = ? AND pos > ? ORDER BY pos LIMIT ?`
)

// pageSize is how many items one answer holds.
const pageSize = 500

// page is the items after a cursor.
type page struct {
	cursor    Cursor // of the last item, or where the reader stands
	items     []Item
	truncated bool
}

// after reads the items that follow c, or says that the feed cannot continue from there.
func (f *Feeds) after(ctx context.Context, feed string, c Cursor) (page, error) {
	var p page
	err := f.db.InTx(ctx, pg.Scope{ReadOnly: true}, func(tx *pg.Tx) error {
		var at place
		if err := tx.Raw(standing, feed, c.Pos, c.Pos).Scan(&at).Error; err != nil {
			return err
		}
		switch {
		case c.Incarnation != "" && c.Incarnation != at.Incarnation:
			return gone("The feed has another incarnation.")
		case c.Pos > at.Head:
			return gone("The feed does not reach that far.")
		case c.Pos > 0 && at.Item == "":
			return gone("That position is past retention.")
		case c.Pos > 0 && at.Item != c.Item:
			return gone("Another item is at that position.")
		}
		var rows []row
		if err := tx.Raw(following, feed, c.Pos, pageSize+1).Scan(&rows).Error; err != nil {
			return err
		}
		p = page{cursor: Cursor{at.Incarnation, c.Pos, c.Item}, items: make([]Item, 0, len(rows)), truncated: len(rows) > pageSize}
		for _, r := range rows[:min(len(rows), pageSize)] {
			if r.Pos != p.cursor.Pos+1 {
				return gone("The items after that position are past retention.")
			}
			p.items = append(p.items, r.item())
			p.cursor.Pos, p.cursor.Item = r.Pos, r.ID
		}
		return nil
	})
	return p, err
}

// head is the cursor of the feed's last item.
func (f *Feeds) head(ctx context.Context, feed string) (Cursor, error) {
	var at place
	err := f.db.InTx(ctx, pg.Scope{ReadOnly: true}, func(tx *pg.Tx) error {
		return tx.Raw(standing, feed, -1, -1).Scan(&at).Error
	})
	return Cursor{at.Incarnation, at.Head, at.Item}, err
}

func gone(why string) error {
	return fault.New(fault.Gone, why+" List it, then watch from the list's cursor.")
}
