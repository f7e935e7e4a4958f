package outbox

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/kit/reconcile"
)

const (
	passEvery  = 250 * time.Millisecond
	pruneEvery = 10 * time.Minute
	// DefaultKeep is how long items are kept for readers that lag.
	DefaultKeep = 7 * 24 * time.Hour
)

// FeedSpec is one feed that this service publishes.
type FeedSpec struct {
	Name string
	// Readers are the services that may read it.
	Readers []string
	// List reads the present state, one item per key, for readers that cannot continue.
	List func(ctx context.Context) ([]Item, error)
	// AsOf is the clock that as_of is told by, when it is not the real one: the clock of
	// the items' own times.
	AsOf clock.Clock
	// Keep is how long items are kept, in real time; zero means DefaultKeep.
	Keep time.Duration
}

// Feeds are the feeds of one service.
type Feeds struct {
	db    *pg.DB
	clk   clock.Clock
	specs map[string]FeedSpec
	names []string
	bell  reconcile.Bell

	mu      sync.Mutex
	asOf    map[string]time.Time // by feed: everything committed before it has a position
	changed chan struct{}        // closed and replaced when positions were given
}

// NewFeeds returns the feeds of the service in whose schema db, the work role's pool,
// works. clk is the real clock.
func NewFeeds(db *pg.DB, clk clock.Clock, specs ...FeedSpec) *Feeds {
	f := &Feeds{db: db, clk: clk, specs: map[string]FeedSpec{}, bell: reconcile.NewBell(), asOf: map[string]time.Time{}, changed: make(chan struct{})}
	for _, s := range specs {
		if s.AsOf == nil {
			s.AsOf = clk
		}
		if s.Keep == 0 {
			s.Keep = DefaultKeep
		}
		f.specs[s.Name] = s
		f.names = append(f.names, s.Name)
	}
	return f
}

// Workers are the background loops: sequencing passes and retention.
func (f *Feeds) Workers() []host.Worker {
	return []host.Worker{
		reconcile.Loop("sequence-feeds", f.clk, passEvery, f.bell.C(), func(ctx context.Context) error { return f.pass(ctx, false) }),
		reconcile.Loop("prune-feeds", f.clk, pruneEvery, nil, f.prune),
	}
}

// Wake shortens the wait for the next pass. Call it after a commit that put something; it
// never blocks.
func (f *Feeds) Wake() { f.bell.Ring() }

// passed records a complete pass that began at those instants.
func (f *Feeds) passed(began map[string]time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, at := range began {
		if at.After(f.asOf[name]) {
			f.asOf[name] = at
		}
	}
}

// announce wakes the readers that wait.
func (f *Feeds) announce() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.changed)
	f.changed = make(chan struct{})
}

// state is the as_of of a feed and a channel that is closed when there may be more. Take
// it before reading items.
func (f *Feeds) state(name string) (asOf time.Time, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asOf[name], f.changed
}
