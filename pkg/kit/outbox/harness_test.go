package outbox_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
)

// bench is a source (the allocator's schema) with one feed, and room for consumers (the
// metering schema) that may read it.
type bench struct {
	t     *testing.T
	db    pg.Database
	work  *pg.DB
	feeds *outbox.Feeds
	mesh  *mesh.Memory
	list  func(context.Context) ([]outbox.Item, error)
	// between, when set, sees each request before it is served.
	mu      sync.Mutex
	between func(*http.Request)
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, db: pgtest.New(t, "allocator", "metering"), mesh: mesh.NewMemory()}
	b.work = pgtest.Open(t, b.db, "allocator", pg.Work, 8)
	b.list = func(context.Context) ([]outbox.Item, error) { return nil, nil }
	b.feeds = outbox.NewFeeds(b.work, clock.Real{}, outbox.FeedSpec{Name: "facts", Readers: []string{"metering"},
		List: func(ctx context.Context) ([]outbox.Item, error) { return b.list(ctx) }})
	ln, err := b.mesh.Listen("allocator")
	require.NoError(t, err)
	handler := b.feeds.Handler()
	srv := &http.Server{ConnContext: mesh.ConnContext, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		f := b.between
		b.mu.Unlock()
		if f != nil {
			f(r)
		}
		handler.ServeHTTP(w, r)
	})}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })
	return b
}

func (b *bench) onRequest(f func(*http.Request)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.between = f
}

// work runs the feeds' workers until the test ends.
func (b *bench) runWorkers() {
	ctx, cancel := context.WithCancel(b.t.Context())
	var wg sync.WaitGroup
	for _, w := range b.feeds.Workers() {
		wg.Go(func() { _ = w.Run(ctx) })
	}
	b.t.Cleanup(func() { cancel(); wg.Wait() })
}

// put commits one item per value.
func (b *bench) put(values ...int) {
	b.t.Helper()
	for _, v := range values {
		require.NoError(b.t, b.work.InTx(b.t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
			return outbox.Put(tx, clock.Real{}, "facts", "k", "org_1", v)
		}))
	}
	b.feeds.Wake()
}

type answer struct {
	Status      int
	Code        string
	Incarnation string
	AsOf        time.Time `json:"as_of"`
	Cursor      string
	Truncated   bool
	Items       []outbox.Item
}

func (a answer) values(t *testing.T) []int {
	t.Helper()
	return values(t, a.Items)
}

func values(t *testing.T, items []outbox.Item) []int {
	t.Helper()
	out := []int{}
	for _, it := range items {
		var v int
		require.NoError(t, json.Unmarshal(it.Data, &v))
		out = append(out, v)
	}
	return out
}

// get asks as a peer.
func (b *bench) get(peer, path string, q url.Values) answer {
	b.t.Helper()
	base, client := b.mesh.As(peer).HTTPClient("allocator")
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, base+path+"?"+q.Encode(), nil)
	require.NoError(b.t, err)
	resp, err := client.Do(req)
	require.NoError(b.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	a := answer{}
	require.NoError(b.t, json.Unmarshal(body, &struct {
		*answer
		Status any `json:"status"`
	}{answer: &a}), "%s", body)
	a.Status = resp.StatusCode
	return a
}

// after asks for what follows a cursor, at once and synced.
func (b *bench) after(cursor string) answer {
	b.t.Helper()
	return b.get("metering", outbox.Path, url.Values{"name": {"facts"}, "after": {cursor}, "sync": {"1"}})
}

// sink is a consumer that remembers what it applied, in its own schema.
type sink struct {
	*outbox.Consumer
	work *pg.DB
	mu   sync.Mutex
	told []int
	fail func(tx *pg.Tx, items []outbox.Item) error // after applying
}

func (b *bench) sink(relist outbox.Relist) *sink {
	s := &sink{work: pgtest.Open(b.t, b.db, "metering", pg.Work, 4)}
	s.Consumer = outbox.NewConsumer(s.work, b.mesh.As("metering"), "allocator", "facts", clock.Real{}, slog.New(slog.DiscardHandler),
		func(ctx context.Context, tx *pg.Tx, items []outbox.Item, _ time.Time) error {
			for _, it := range items {
				// The consumer's own outbox serves as its table of applied facts.
				if err := tx.Exec(`INSERT INTO outbox (id, feed, key, at, data) VALUES (?, 'applied', ?, ?, ?)`, it.ID, it.Key, it.At, string(it.Data)).Error; err != nil {
					return err
				}
			}
			if s.fail != nil {
				return s.fail(tx, items)
			}
			return nil
		}, relist)
	s.OnApplied(func(items []outbox.Item, _ time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told = append(s.told, values(b.t, items)...)
	})
	return s
}

func (s *sink) hooks() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]int{}, s.told...)
}

// applied are the facts in the order in which they took effect.
func (s *sink) applied(t *testing.T) []int {
	t.Helper()
	out := []int{}
	require.NoError(t, s.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return tx.Raw(`SELECT (data::text)::int FROM outbox WHERE feed = 'applied' ORDER BY seq`).Scan(&out).Error
	}))
	return out
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i + 1
	}
	return out
}
