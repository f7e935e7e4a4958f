package metering_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/meteringapi"
	"github.com/weirhq/weir/pkg/api/meteringmeshapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/apitest"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
	"github.com/weirhq/weir/services/metering"
)

func TestFactsBecomeIntervals(t *testing.T) {
	w := setup(t)
	w.publish(member("mem_1", 1000, -1, false), member("mem_2", 1000, 1000, true), member("mem_3", -1, -1, true))
	w.sync()
	require.Equal(t, []string{"mem_1:1000-"}, w.pictures())
	w.publish(member("mem_1", -1, 2000, false), member("mem_1", 5000, -1, false), member("mem_1", -1, 6000, true), member("mem_1", 7000, -1, false))
	w.sync()
	w.sync()
	require.Equal(t, []string{"mem_1:1000-2000", "mem_1:5000-6000"}, w.pictures(), "and nothing after its end")
	var refused []string
	require.NoError(t, w.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return tx.Raw(`SELECT member || ' ' || code FROM refused_fact`).Scan(&refused).Error
	}))
	require.Equal(t, []string{"mem_1 after_end"}, refused, "a person finds out")
}

// A heartbeat moves the time up to which running meters are known to run, and unknown kinds
// of a newer allocator do no harm.
func TestRunningMetersCountUpToTheHeartbeat(t *testing.T) {
	w := setup(t)
	w.publish(member("mem_1", 0, -1, false))
	w.clk.Advance(5 * time.Second)
	require.NoError(t, w.allocator.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		for _, kind := range []string{"heartbeat", "fancy"} {
			if err := outbox.Put(tx, w.clk, "instances", kind, "", map[string]any{"kind": kind, "at": w.clk.Now()}); err != nil {
				return err
			}
		}
		return nil
	}))
	w.sync()
	require.Equal(t, map[string]string{"ins_mem_1": "0.002389 CNY"}, w.costs(viewer("org_a"), "ins_mem_1"))
	w.clk.Advance(time.Hour) // the allocator says nothing more
	require.Equal(t, map[string]string{"ins_mem_1": "0.002389 CNY"}, w.costs(viewer("org_a"), "ins_mem_1"), "nobody is billed for what nobody knows")
}

// A restored allocator has another incarnation: metering lists it, closes nothing that the
// list leaves out, and misses and doubles nothing that it tells.
func TestARestoredAllocator(t *testing.T) {
	w := setup(t)
	w.publish(member("mem_1", 0, -1, false), member("mem_2", 0, -1, false), member("mem_3", 0, 10, true))
	w.sync()
	require.NoError(t, outbox.RestoreIncarnation(t.Context(), w.allocator))
	w.history = append(w.history[1:], // mem_1 is not in the backup
		outbox.Item{Key: "mem_2", Data: member("mem_2", -1, 500, false).json()}, outbox.Item{Key: "mem_2", Data: member("mem_2", 900, -1, false).json()},
		outbox.Item{Key: "mem_4", Data: member("mem_4", 100, 200, true).json()})
	w.sync()
	want := []string{"mem_1:0-", "mem_2:0-500", "mem_2:900-", "mem_3:0-10", "mem_4:100-200"}
	require.Equal(t, want, w.pictures())
	w.publish(member("mem_2", -1, 1000, true))
	w.sync()
	want[2] = "mem_2:900-1000"
	require.Equal(t, want, w.pictures(), "and the feed goes on")
}

// Two processes of the service follow the same feed: every fact counts once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t, "metering", "allocator", "tenant")
	a, b := process(t, d), process(t, d)
	var want []string
	for i := range 40 {
		name := fmt.Sprintf("mem_%02d", i)
		a.publish(member(name, int64(i), -1, false), member(name, -1, int64(i)+100, true))
		want = append(want, fmt.Sprintf("%s:%d-%d", name, i, i+100))
		if i%8 == 0 {
			b.sync()
		}
	}
	a.sync()
	require.Equal(t, want, a.pictures())
	b.sync()
	require.Equal(t, want, a.pictures())
	r, err := b.public(actor.Actor{}).ListPricesWithResponse(t.Context(), &meteringapi.ListPricesParams{Offering: ptr("h100-80gb.whole")})
	require.NoError(t, err)
	require.Len(t, r.JSON200.Items, 2, "the second start adds no prices")
}

// An item that cannot be read stops the feed: it shows, and nothing is lost.
func TestABrokenItemStopsTheFeed(t *testing.T) {
	w := setup(t)
	require.NoError(t, w.allocator.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return outbox.Put(tx, w.clk, "instances", "x", "", map[string]any{"kind": "member", "member": "mem_1"})
	}))
	w.publish(member("mem_2", 0, -1, false))
	base, client := w.stack.AsService("allocator").Client(metering.Name)
	c, err := meteringmeshapi.NewClientWithResponses(base, meteringmeshapi.WithHTTPClient(client))
	require.NoError(t, err)
	r, err := c.SyncMeteringFeedsWithResponse(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, r.StatusCode(), 500)
	require.Empty(t, w.pictures())
	rows := w.usage(viewer("org_a"), meteringapi.ListUsageParams{})
	require.Empty(t, rows, "reports answer with what is known")
}

func TestPriceListIsPublic(t *testing.T) {
	w := setup(t)
	nobody := w.public(actor.Actor{})
	r, err := nobody.ListPricesWithResponse(t.Context(), &meteringapi.ListPricesParams{Offering: ptr("h100-80gb.whole")})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.StatusCode(), "%s", r.Body)
	require.Len(t, r.JSON200.Items, 2)
	require.Equal(t, "14.000000", r.JSON200.Items[0].PerHour)
	require.Equal(t, "CNY", r.JSON200.Items[0].Currency)
	require.Equal(t, start, r.JSON200.Items[0].EffectiveFrom)
	require.Nil(t, r.JSON200.Items[0].EffectiveTo)

	seen := map[string]bool{}
	p := meteringapi.ListPricesParams{Limit: ptr(100), Currency: ptr("USD")}
	for {
		r, err := nobody.ListPricesWithResponse(t.Context(), &p)
		require.NoError(t, err)
		for _, i := range r.JSON200.Items {
			require.False(t, seen[i.Offering])
			seen[i.Offering] = true
		}
		if p.Cursor = r.JSON200.NextCursor; p.Cursor == nil {
			break
		}
	}
	require.Greater(t, len(seen), 100)
	for _, bad := range []string{"currency=yuan", "cursor=x", "cursor=WyJhIiwiYiIsImMiXQ", "limit=-1"} {
		status, _ := w.get(w.stack.As(actor.Actor{}), "/v1/prices?"+bad)
		require.Equal(t, http.StatusUnprocessableEntity, status, bad)
	}
}

func TestPricesFeed(t *testing.T) {
	w := setup(t)
	status, doc := w.get(w.stack.AsService("allocator"), outbox.Path+"?name=prices&sync=1")
	require.Equal(t, http.StatusOK, status)
	items, _ := doc["items"].([]any)
	require.Greater(t, len(items), 200)
	raw, err := json.Marshal(items[0])
	require.NoError(t, err)
	var item struct {
		Key  string
		Data struct {
			VersionID     string    `json:"version_id"`
			Offering      string    `json:"offering"`
			Currency      string    `json:"currency"`
			PerHourMicro  int64     `json:"per_hour_micro"`
			EffectiveFrom time.Time `json:"effective_from"`
		}
	}
	require.NoError(t, json.Unmarshal(raw, &item))
	require.Equal(t, item.Data.Offering+"/"+item.Data.Currency, item.Key)
	require.NotEmpty(t, item.Data.VersionID)
	require.Positive(t, item.Data.PerHourMicro)
	require.Equal(t, start, item.Data.EffectiveFrom)

	status, doc = w.get(w.stack.AsService("allocator"), outbox.ListPath+"?name=prices")
	require.Equal(t, http.StatusOK, status)
	require.Len(t, doc["items"], len(items))
	status, _ = w.get(w.stack.AsService("inventory"), outbox.Path+"?name=prices")
	require.Equal(t, http.StatusForbidden, status)
}

func TestOnlyServicesSync(t *testing.T) {
	w := setup(t)
	for _, c := range []struct {
		caller apitest.Caller
		want   int
	}{{w.stack.As(viewer("org_a")), http.StatusForbidden}, {w.stack.AsService("inventory"), http.StatusForbidden}, {w.stack.AsService("tenant"), http.StatusNoContent}} {
		base, client := c.caller.Client(metering.Name)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/internal/v1/feeds/sync", nil)
		require.NoError(t, err)
		resp, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, c.want, resp.StatusCode)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	require.NoError(t, metering.DefaultConfig().Validate())
	_, err := metering.New(metering.Config{}, host.Env{})
	require.ErrorContains(t, err, "Grace")
	require.ErrorContains(t, err, "MaxConns")
}
