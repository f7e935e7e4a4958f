package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/pg"
)

// Apply makes items that follow the last ones true here. Everything that the source
// committed before asOf is in them or was applied before; a truncated answer repeats the
// last asOf. There may be no items: then only asOf moved. It may run again after a rollback.
type Apply func(ctx context.Context, tx *pg.Tx, items []Item, asOf time.Time) error

// Relist makes the source's present state true here, when the feed could not be continued.
// It must not end or delete anything because it is absent. Items may be older than what
// was applied before (their versions tell).
type Relist func(ctx context.Context, tx *pg.Tx, items []Item) error

// Consumer follows one feed of another service. Several processes may run the same one:
// each item is applied once, and each process's OnApplied sees every item.
type Consumer struct {
	db           *pg.DB
	remote       remote
	source, feed string
	clk          clock.Clock
	log          *slog.Logger
	apply        Apply
	relist       Relist
	hooks        []func(items []Item, asOf time.Time)

	mu    sync.Mutex // held while items are applied, so that hooks run in order
	known bool       // whether at was read
	at    Cursor     // how far this process has come
	asOf  time.Time
}

// NewConsumer returns a consumer of source's feed. db is the work role's pool; clk is real
// time. A nil relist applies a list as if its items had followed.
func NewConsumer(db *pg.DB, m mesh.Mesh, source, feed string, clk clock.Clock, log *slog.Logger, apply Apply, relist Relist) *Consumer {
	base, client := m.HTTPClient(source)
	return &Consumer{db: db, remote: remote{base, client, feed}, source: source, feed: feed, clk: clk, log: log.With("feed", source+"."+feed), apply: apply, relist: relist}
}

// OnApplied adds a function that is called with applied items after their commit, in
// order; after a relist with the listed ones. Add them before Run.
func (c *Consumer) OnApplied(fn func(items []Item, asOf time.Time)) { c.hooks = append(c.hooks, fn) }

// AsOf is the instant before which everything the source committed has been applied, as
// far as this process has seen.
func (c *Consumer) AsOf() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asOf
}

// Worker is Run as a worker.
func (c *Consumer) Worker() host.Worker {
	return host.Worker{Name: "follow-" + c.source + "-" + c.feed, Run: c.Run}
}

const (
	pollWait     = 25 * time.Second
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// Run follows the feed until ctx ends.
func (c *Consumer) Run(ctx context.Context) error {
	backoff := firstBackoff
	for ctx.Err() == nil {
		_, err := c.pull(ctx, pollWait, false)
		if err == nil {
			backoff = firstBackoff
			continue
		}
		if ctx.Err() != nil {
			break
		}
		c.log.WarnContext(ctx, "feed not followed; trying again", "err", err, "in", backoff)
		if clock.Sleep(ctx, c.clk, backoff/2+rand.N(backoff/2)) != nil {
			break
		}
		backoff = min(2*backoff, maxBackoff)
	}
	return nil
}

// Sync returns once everything that the source had committed before the call is applied.
func (c *Consumer) Sync(ctx context.Context) error {
	for first := true; ; first = false {
		more, err := c.pull(ctx, 0, first)
		if err != nil {
			return fmt.Errorf("sync feed %s.%s: %w", c.source, c.feed, err)
		}
		if !more {
			return nil
		}
	}
}

// pull fetches once and applies; it reports whether there is more at once.
func (c *Consumer) pull(ctx context.Context, wait time.Duration, sync bool) (more bool, err error) {
	at, err := c.position(ctx)
	if err != nil {
		return false, err
	}
	a, err := c.remote.watch(ctx, at, wait, sync)
	switch {
	case errors.Is(err, fault.Gone):
		c.log.WarnContext(ctx, "feed cannot be continued; listing it", "why", fault.From(err).Public)
		return true, c.startOver(ctx, at)
	case err != nil:
		return false, err
	}
	return a.Truncated, c.take(ctx, at, a)
}

// position is where this process continues: where the database stands, at first.
func (c *Consumer) position(ctx context.Context) (Cursor, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known {
		return c.at, nil
	}
	err := c.db.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		s, err := c.lock(tx)
		c.at, c.asOf = s.cursor(), s.AsOf.UTC()
		return err
	})
	if err != nil {
		return Cursor{}, fmt.Errorf("read the cursor of feed %s.%s: %w", c.source, c.feed, err)
	}
	c.known = true
	return c.at, nil
}
