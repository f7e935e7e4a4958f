package outbox

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/pg"
)

// Item is one fact on a feed.
type Item struct {
	ID   string          `json:"id"`
	Pos  int64           `json:"pos"` // dense within the feed, from 1; 0 in a list
	Feed string          `json:"feed"`
	Key  string          `json:"key"` // what the fact is about
	Org  string          `json:"org"` // whose it is, or ""
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"`
}

const insert = `INSERT INTO outbox (id, feed, key, org, at, data) VALUES (?, ?, ?, ?, ?, ?)`

// Put adds a fact in the transaction of the change. Call it after the row that it is about
// was locked or written, so that facts about one thing keep their order. Call Feeds.Wake
// once the transaction has committed (tx.AfterCommit).
func Put(tx *pg.Tx, clk clock.Clock, feed, key, org string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("marshal an item of feed %s: %w", feed, err)
	}
	now := clk.Now()
	if err := tx.Exec(insert, id.New(id.Item, now), feed, key, org, now.Truncate(time.Millisecond), string(b)).Error; err != nil {
		return fmt.Errorf("put an item on feed %s: %w", feed, err)
	}
	return nil
}
