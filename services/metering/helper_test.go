package metering_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/meteringapi"
	"github.com/weirhq/weir/pkg/api/meteringmeshapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/apitest"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
	"github.com/weirhq/weir/services/metering"
)

// start is when the tests' business clock begins.
var start = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

// world is metering for real, between an allocator and a tenant service that have nothing
// but their feeds, which are real too.
type world struct {
	t         *testing.T
	stack     *apitest.Stack
	clk       *clock.Fake // business time
	allocator *pg.DB
	tenant    *pg.DB
	work      *pg.DB // metering's own
	history   []outbox.Item
}

func setup(t *testing.T) *world {
	t.Parallel()
	return process(t, pgtest.New(t, "metering", "allocator", "tenant"))
}

// process is one process on a database that others may use as well.
func process(t *testing.T, d pg.Database) *world {
	t.Helper()
	w := &world{t: t, clk: clock.NewFake(start)}
	w.stack = apitest.New(t, apitest.Config{Database: d, Business: w.clk})
	w.allocator, w.tenant = pgtest.Open(t, d, "allocator", pg.Work, 4), pgtest.Open(t, d, "tenant", pg.Work, 4)
	w.work = pgtest.Open(t, d, "metering", pg.Work, 2)
	w.serveFeed("allocator", w.allocator, outbox.FeedSpec{Name: "instances", Readers: []string{"metering"}, AsOf: w.clk,
		List: func(context.Context) ([]outbox.Item, error) { return w.history, nil }})
	w.serveFeed("tenant", w.tenant, outbox.FeedSpec{Name: "orgs", Readers: []string{"metering"}, List: func(context.Context) ([]outbox.Item, error) { return nil, nil }})
	w.stack.Serve(func(env host.Env) (*host.Module, error) {
		return metering.New(metering.DefaultConfig(), env.For(metering.Name))
	})
	return w
}

func (w *world) serveFeed(service string, db *pg.DB, spec outbox.FeedSpec) {
	feeds := outbox.NewFeeds(db, clock.Real{}, spec)
	w.stack.Serve(func(host.Env) (*host.Module, error) {
		return &host.Module{Name: service, Handler: feeds.Handler(), Workers: feeds.Workers()}, nil
	})
}

// fact is a member's transition; the member belongs to an instance of nearly the same name.
type fact struct {
	org, project, member, offering string
	perHour, cards, gpue           int64
	from, until                    time.Time
	ended                          bool
}

func (f fact) json() json.RawMessage {
	m := map[string]any{
		"kind": "member", "org": f.org, "project": f.project, "member": f.member, "instance": "ins_" + f.member, "offering": f.offering, "offering_version": 3,
		"price_version": "prc_1", "per_hour_micro": f.perHour, "currency": "CNY", "cards": f.cards, "gpue_micro": f.gpue, "state": "running", "at": start, "ended": f.ended,
	}
	if !f.from.IsZero() {
		m["billable_from"] = f.from
	}
	if !f.until.IsZero() {
		m["billable_until"] = f.until
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// member is a fact of a slice in org_a's project prj_1, with the bounds in milliseconds after start;
// -1 says nothing.
func member(name string, from, until int64, ended bool) fact {
	f := fact{org: "org_a", project: "prj_1", member: name, offering: "h100-80gb.1g.10gb", perHour: 1_720_000, cards: 1, gpue: 122_414, ended: ended}
	if from >= 0 {
		f.from = ms(from)
	}
	if until >= 0 {
		f.until = ms(until)
	}
	return f
}

func ms(n int64) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }

// publish puts facts on the allocator's feed.
func (w *world) publish(facts ...fact) {
	w.t.Helper()
	require.NoError(w.t, w.allocator.InTx(w.t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		for _, f := range facts {
			if err := outbox.Put(tx, w.clk, "instances", f.member, f.org, f.json()); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, f := range facts {
		w.history = append(w.history, outbox.Item{ID: id.New(id.Item, start), Key: f.member, Org: f.org, At: start, Data: f.json()})
	}
}

// sync returns once all that was published is applied.
func (w *world) sync() {
	w.t.Helper()
	base, client := w.stack.AsService("gateway").Client(metering.Name)
	c, err := meteringmeshapi.NewClientWithResponses(base, meteringmeshapi.WithHTTPClient(client))
	require.NoError(w.t, err)
	r, err := c.SyncMeteringFeedsWithResponse(w.t.Context())
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusNoContent, r.StatusCode(), "%s", r.Body)
}

func viewer(org string) actor.Actor {
	return actor.Actor{Kind: actor.User, ID: "usr_1", Org: org, Role: actor.Viewer}
}

func (w *world) public(who actor.Actor) *meteringapi.ClientWithResponses {
	w.t.Helper()
	base, client := w.stack.As(who).Client(metering.Name)
	c, err := meteringapi.NewClientWithResponses(base, meteringapi.WithHTTPClient(client))
	require.NoError(w.t, err)
	return c
}

// usage reads every page of a report.
func (w *world) usage(who actor.Actor, p meteringapi.ListUsageParams) (rows []meteringapi.UsageRow) {
	w.t.Helper()
	for {
		r, err := w.public(who).ListUsageWithResponse(w.t.Context(), &p)
		require.NoError(w.t, err)
		require.Equal(w.t, http.StatusOK, r.StatusCode(), "%s", r.Body)
		rows = append(rows, r.JSON200.Items...)
		if r.JSON200.NextCursor == nil {
			return rows
		}
		p.Cursor = r.JSON200.NextCursor
	}
}

// costs asks as the gateway does on behalf of who.
func (w *world) costs(who actor.Actor, instances ...string) map[string]string {
	w.t.Helper()
	base, client := w.stack.As(who).Client(metering.Name)
	c, err := meteringmeshapi.NewClientWithResponses(base, meteringmeshapi.WithHTTPClient(client))
	require.NoError(w.t, err)
	r, err := c.GetCostsWithResponse(w.t.Context(), &meteringmeshapi.GetCostsParams{Instance: instances})
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, r.StatusCode(), "%s", r.Body)
	got := map[string]string{}
	for _, i := range r.JSON200.Items {
		got[i.Instance] = i.Cost.Amount + " " + i.Cost.Currency
	}
	return got
}

// get sends a bare GET.
func (w *world) get(c apitest.Caller, path string) (int, map[string]any) {
	w.t.Helper()
	base, client := c.Client(metering.Name)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, base+path, nil)
	require.NoError(w.t, err)
	resp, err := client.Do(r)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	var doc map[string]any
	require.NoError(w.t, json.Unmarshal(raw, &doc), "%s", raw)
	return resp.StatusCode, doc
}

// pictures writes every stored interval.
func (w *world) pictures() (all []string) {
	w.t.Helper()
	require.NoError(w.t, w.work.InTx(w.t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		all = nil
		return tx.Raw(`SELECT member || ':' || round(extract(epoch FROM lower(during) - ?) * 1000) || '-' || coalesce(round(extract(epoch FROM upper(during) - ?) * 1000)::text, '')
			FROM interval ORDER BY member, lower(during)`, start, start).Scan(&all).Error
	}))
	return all
}
