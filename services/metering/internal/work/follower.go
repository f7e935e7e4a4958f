package work

import (
	"context"
	"log/slog"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/metering/internal/meter"
	"github.com/weirhq/weir/services/metering/internal/store"
)

// Follower follows the peers' feeds into intervals and orgs.
type Follower struct {
	clk             clock.Clock
	instances, orgs *outbox.Consumer
}

// NewFollower returns a follower that writes through the work role's pool.
func NewFollower(db *pg.DB, m mesh.Mesh, clk clock.Clock, log *slog.Logger) *Follower {
	f := &Follower{clk: clk}
	f.instances = outbox.NewConsumer(db, m, "allocator", "instances", clk, log, f.apply, f.restate)
	f.orgs = outbox.NewConsumer(db, m, "tenant", "orgs", clk, log, applyOrgs, nil)
	return f
}

// Workers follow each feed until the process ends.
func (f *Follower) Workers() []host.Worker {
	return []host.Worker{f.instances.Worker(), f.orgs.Worker()}
}

// Sync applies both feeds up to their heads.
func (f *Follower) Sync(ctx context.Context) error {
	if err := f.orgs.Sync(ctx); err != nil {
		return err
	}
	return f.instances.Sync(ctx)
}

// apply turns the next facts into changes of intervals, in the transaction of the cursor.
func (f *Follower) apply(_ context.Context, tx *pg.Tx, items []outbox.Item, asOf time.Time) error {
	return f.change(tx, items, asOf, func(l *meter.Ledger, facts []meter.Fact, _ time.Time) {
		for _, fact := range facts {
			l.Apply(fact)
		}
	})
}

// restate takes a list in, when the feed could not be continued.
func (f *Follower) restate(_ context.Context, tx *pg.Tx, items []outbox.Item) error {
	return f.change(tx, items, time.Time{}, func(l *meter.Ledger, facts []meter.Fact, known time.Time) { l.Restate(facts, known) })
}

// change loads what is stored about the members of the items, lets fn tell the ledger, and
// saves what changed. A zero asOf keeps the stored one.
func (f *Follower) change(tx *pg.Tx, items []outbox.Item, asOf time.Time, fn func(*meter.Ledger, []meter.Fact, time.Time)) error {
	facts := make([]meter.Fact, 0, len(items))
	var members []string
	for _, i := range items {
		fact, err := factOf(i.ID, i.Pos, i.Data)
		if err != nil {
			return err
		}
		if fact != nil {
			facts, members = append(facts, *fact), append(members, fact.Member)
		}
	}
	books := store.BooksOf(tx)
	pos, known, err := books.Progress()
	if err != nil {
		return err
	}
	ledger := meter.New(pos, func() string { return store.NewID(f.clk.Now()) })
	if len(members) > 0 {
		intervals, ended, err := books.Load(members)
		if err != nil {
			return err
		}
		ledger.Load(intervals, ended)
	}
	fn(ledger, facts, known)
	if asOf.Before(known) {
		asOf = known
	}
	return books.Save(ledger.Delta(), asOf)
}

// applyOrgs keeps what metering must know of orgs.
func applyOrgs(_ context.Context, tx *pg.Tx, items []outbox.Item, _ time.Time) error {
	for _, i := range items {
		o, err := orgOf(i.ID, i.Data)
		if err != nil {
			return err
		}
		if err := store.SaveOrg(tx, o); err != nil {
			return err
		}
	}
	return nil
}
