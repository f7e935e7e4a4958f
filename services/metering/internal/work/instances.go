package work

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/metering/internal/meter"
	"github.com/weirhq/weir/services/metering/internal/store"
)

// Instances applies the instances feed: each batch in one transaction with its cursor.
type Instances struct {
	Clock clock.Clock // business time, for the ids of intervals
	Log   *slog.Logger
}

// Consumer follows the feed.
func (i *Instances) Consumer(db *pg.DB, m mesh.Mesh, clk clock.Clock) *outbox.Consumer {
	return outbox.NewConsumer(db, m, "allocator", "instances", clk, i.Log, i.Apply, i.Relist)
}

// Apply takes the feed's next items. Those that were applied before change nothing.
func (i *Instances) Apply(ctx context.Context, tx *pg.Tx, items []outbox.Item, asOf time.Time) error {
	return i.change(ctx, tx, items, func(l *meter.Ledger, facts []meter.Fact, _ time.Time) time.Time {
		for _, f := range facts {
			l.Apply(f)
		}
		return asOf
	})
}

// Relist takes the feed's list, which says nothing of what it leaves out.
func (i *Instances) Relist(ctx context.Context, tx *pg.Tx, items []outbox.Item) error {
	return i.change(ctx, tx, items, func(l *meter.Ledger, facts []meter.Fact, known time.Time) time.Time {
		l.Restate(facts, known)
		return known
	})
}

func (i *Instances) change(ctx context.Context, tx *pg.Tx, items []outbox.Item, take func(l *meter.Ledger, facts []meter.Fact, known time.Time) (asOf time.Time)) error {
	facts, members, err := factsOf(items)
	if err != nil {
		return err
	}
	books := store.BooksOf(tx)
	pos, known, err := books.Progress()
	if err != nil {
		return err
	}
	l := meter.New(pos, func() string { return store.NewID(i.Clock.Now()) })
	if len(members) > 0 {
		intervals, ended, err := books.Load(members)
		if err != nil {
			return err
		}
		l.Load(intervals, ended)
	}
	asOf := take(l, facts, known)
	d := l.Delta()
	if err := books.Save(d, asOf); err != nil {
		return fmt.Errorf("store %d facts: %w", len(facts), err)
	}
	for _, r := range d.Refused {
		i.Log.ErrorContext(ctx, "a fact could not be billed as it was said", "item", r.Item, "member", r.Member, "code", string(r.Code), "at", r.Detail)
	}
	return nil
}

func factsOf(items []outbox.Item) (facts []meter.Fact, members []string, err error) {
	seen := map[string]bool{}
	for _, item := range items {
		f, err := factOf(item.ID, item.Pos, item.Data)
		if err != nil {
			return nil, nil, err
		}
		if f == nil {
			continue
		}
		facts = append(facts, *f)
		if !seen[f.Member] {
			seen[f.Member] = true
			members = append(members, f.Member)
		}
	}
	return facts, members, nil
}
