package work

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/allocator/internal/app"
	"github.com/weirhq/weir/services/allocator/internal/domain"
	"github.com/weirhq/weir/services/allocator/internal/store"
)

// Follower follows peers' feeds while this process leads. Each term has consumers of its
// own, whose writes are fenced by its epoch: what a deposed leader still applied would
// otherwise be missing from its successor's memory.
type Follower struct {
	db     *pg.DB
	mesh   mesh.Mesh
	clk    clock.Clock
	log    *slog.Logger
	writer *app.Writer

	mu        sync.Mutex
	consumers map[string]*outbox.Consumer // of the present term
}

// NewFollower returns a follower for a writer, and has it run while that leads.
func NewFollower(db *pg.DB, m mesh.Mesh, clk clock.Clock, log *slog.Logger, w *app.Writer) *Follower {
	f := &Follower{db: db, mesh: m, clk: clk, log: log, writer: w}
	w.OnLead(f.lead)
	return f
}

// lead follows every feed until the term ends.
func (f *Follower) lead(ctx context.Context, epoch int64) error {
	var copies store.Copies
	term := map[string]*outbox.Consumer{
		app.FeedOrgs:   follow(ctx, f, epoch, "tenant", app.FeedOrgs, domain.ParseOrg, copies.Orgs, f.writer.OrgsChanged),
		app.FeedLimits: follow(ctx, f, epoch, "tenant", app.FeedLimits, domain.ParseLimits, copies.Limits, f.writer.LimitsChanged),
		app.FeedNodes:  follow(ctx, f, epoch, "inventory", app.FeedNodes, domain.ParseNode, copies.Nodes, f.writer.NodesChanged),
		app.FeedPrices: follow(ctx, f, epoch, "metering", app.FeedPrices, domain.ParsePrice, copies.Prices, f.writer.PricesChanged),
	}
	f.set(term)
	defer f.set(nil)
	var wg sync.WaitGroup
	for _, c := range term {
		wg.Go(func() { _ = c.Run(ctx) }) // ends only with ctx
	}
	wg.Wait()
	return nil
}

func (f *Follower) set(term map[string]*outbox.Consumer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.consumers = term
}

// Sync applies the named feeds up to their heads: what was published before is in force
// when it returns.
func (f *Follower) Sync(ctx context.Context, feeds ...string) error {
	for _, name := range feeds {
		f.mu.Lock()
		c := f.consumers[name]
		f.mu.Unlock()
		if c == nil {
			e := fault.New(fault.Unavailable, "The allocator is changing its leader. Retry in a moment.")
			e.RetryAfter = time.Second
			return e
		}
		if err := c.Sync(ctx); err != nil {
			return err
		}
	}
	return nil
}

// follow makes the consumer of one feed: copy what it says in the transaction of the
// cursor, then tell the writer. What cannot be read is left out with an error in the log:
// it must not stop the feed for everybody.
func follow[T any](term context.Context, f *Follower, epoch int64, source, feed string, parse func([]byte) (T, error),
	keep func(*pg.Tx, []T) error, tell func(context.Context, []T) error) *outbox.Consumer {
	read := func(items []outbox.Item) []T {
		var all []T
		for _, i := range items {
			v, err := parse(i.Data)
			if err != nil {
				f.log.Error("an item of a feed cannot be read", "feed", source+"."+feed, "item", i.ID, "err", err)
				continue
			}
			all = append(all, v)
		}
		return all
	}
	apply := func(_ context.Context, tx *pg.Tx, items []outbox.Item, _ time.Time) error {
		if len(items) == 0 {
			return nil
		}
		if err := store.Fence(tx, epoch); err != nil {
			return fmt.Errorf("hold the lease: %w", err)
		}
		return keep(tx, read(items))
	}
	c := outbox.NewConsumer(f.db, f.mesh, source, feed, f.clk, f.log, apply, nil)
	c.OnApplied(func(items []outbox.Item, _ time.Time) {
		// The writer must learn what is in the database now; only the end of the term, after
		// which everything is loaded anew, excuses it.
		for all := read(items); len(all) > 0 && term.Err() == nil; {
			err := tell(term, all)
			if err == nil {
				return
			}
			f.log.Warn("the writer did not take a fact in; again", "feed", source+"."+feed, "err", err)
			if clock.Sleep(term, f.clk, 100*time.Millisecond) != nil {
				return
			}
		}
	})
	return c
}
