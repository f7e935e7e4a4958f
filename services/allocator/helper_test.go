package allocator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/agentapi"
	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/apitest"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
	"github.com/weirhq/weir/services/allocator"
)

const slice = "h100-80gb.1g.10gb"

// bundle is the allocator, running, with peers that are only their feeds.
type bundle struct {
	t     *testing.T
	stack *apitest.Stack
	db    pg.Database
	peers map[string]*pg.DB
	seq   map[string]int64
}

// feedsOf are the feeds of each peer.
var feedsOf = map[string][]string{"tenant": {"orgs", "limits"}, "inventory": {"nodes"}, "metering": {"prices"}}

func setup(t *testing.T) *bundle {
	b := &bundle{t: t, db: pgtest.New(t), peers: map[string]*pg.DB{}, seq: map[string]int64{}}
	b.stack = apitest.New(t, apitest.Config{Database: b.db})
	for peer, names := range feedsOf {
		db := pgtest.Open(t, b.db, peer, pg.Work, 4)
		b.peers[peer] = db
		var specs []outbox.FeedSpec
		for _, n := range names {
			specs = append(specs, outbox.FeedSpec{Name: n, Readers: []string{"allocator"}})
		}
		feeds := outbox.NewFeeds(db, clock.Real{}, specs...)
		b.stack.Serve(func(host.Env) (*host.Module, error) {
			return &host.Module{Name: peer, Handler: feeds.Handler(), Workers: feeds.Workers()}, nil
		})
	}
	group := b.stack.Serve(func(env host.Env) (*host.Module, error) {
		return allocator.New(allocator.DefaultConfig(), env.For(allocator.Name))
	})
	require.Eventually(t, func() bool { return group.Ready(t.Context()) == nil }, 20*time.Second, time.Millisecond)
	return b
}

// publish says something on a peer's feed, and waits until the allocator has it.
func (b *bundle) publish(peer, feed, key string, data any) {
	b.t.Helper()
	require.NoError(b.t, b.peers[peer].InTx(b.t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return outbox.Put(tx, clock.Real{}, feed, key, "", data)
	}))
	r := b.send(b.stack.AsService("tenant"), http.MethodPost, "/internal/v1/feeds/sync", fmt.Sprintf(`{"feed":%q}`, feed), nil)
	require.Equal(b.t, http.StatusNoContent, r.status, "%s", r.body)
}

func (b *bundle) org(limits string) actor.Actor {
	b.t.Helper()
	org := id.New(id.Org, time.Now())
	b.publish("tenant", "orgs", org, json.RawMessage(fmt.Sprintf(`{"id":%q,"name":"acme","currency":"CNY","time_zone":"UTC","billing_mode":"postpaid","standing":"good","approved":true,"version":1,"at":"2026-01-01T00:00:00.000Z"}`, org)))
	b.publish("tenant", "limits", org, json.RawMessage(fmt.Sprintf(`{"org":%q,"version":1%s}`, org, limits)))
	return actor.Actor{Kind: actor.User, ID: id.New(id.User, time.Now()), Org: org, Role: actor.Owner}
}

type gpu struct {
	ID, UUID string
}

type node struct {
	ID, Boot string
	GPUs     []gpu
	doc      map[string]any
}

// node brings up H100s with prices, which have reported in full.
func (b *bundle) node(cards int) *node {
	b.t.Helper()
	board, ok := mig.BoardByKey("h100-80gb-sxm5")
	require.True(b.t, ok)
	n := &node{ID: id.New(id.Node, time.Now()), Boot: "boot-1"}
	var gpus []map[string]any
	for i := range cards {
		g := gpu{id.New(id.GPU, time.Now()), fmt.Sprintf("GPU-%s-%d", n.ID, i)}
		n.GPUs = append(n.GPUs, g)
		gpus = append(gpus, map[string]any{"id": g.ID, "uuid": g.UUID, "index": i, "board": board.Key, "model": board.Model, "arch": board.Arch, "serial": "s",
			"memory_mib": board.MemoryMiB, "sms": board.SMs, "units": board.Units, "mig_mode": "off", "reset_to_toggle": false, "policy": "auto", "state": "ok",
			"cordoned": false, "profiles": board.Profiles})
	}
	n.doc = map[string]any{"id": n.ID, "name": "node-a", "pool": "default", "region": "local", "state": "ready", "cordoned": false, "quarantined": false,
		"simulated": true, "boot_id": n.Boot, "vcpus_milli": 128_000, "ram_mib": 1 << 20, "rack": nil, "zone": nil, "labels": map[string]string{}, "version": 1, "gpus": gpus}
	b.publish("inventory", "nodes", n.ID, n.doc)
	for offering, price := range map[string]int64{"h100-80gb.whole": 14_000_000, slice: 1_720_000, "h100-80gb.3g.40gb": 7_000_000} {
		b.publish("metering", "prices", offering, map[string]any{"version_id": "prc_" + offering, "offering": offering, "currency": "CNY", "per_hour_micro": price, "effective_from": "2020-01-01T00:00:00.000Z"})
	}
	b.report(n, `[]`)
	return n
}

func (b *bundle) agent(n *node) apitest.Caller {
	return b.stack.As(actor.Actor{Kind: actor.Node, ID: n.ID})
}

// report sends a full report with the given members, as JSON.
func (b *bundle) report(n *node, members string) agentapi.ReportAnswer {
	b.t.Helper()
	b.seq[n.ID]++
	r := b.send(b.agent(n), http.MethodPost, "/agent/v1/reports", fmt.Sprintf(`{"boot_id":%q,"seq":%d,"full":true,"members":%s}`, n.Boot, b.seq[n.ID], members), nil)
	require.Equal(b.t, http.StatusOK, r.status, "%s", r.body)
	var out agentapi.ReportAnswer
	require.NoError(b.t, json.Unmarshal(r.body, &out))
	return out
}

type answer struct {
	status int
	body   []byte
	header http.Header
}

func (a answer) code(t *testing.T) string {
	t.Helper()
	var p struct{ Code string }
	require.NoError(t, json.Unmarshal(a.body, &p), "%s", a.body)
	require.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
	return p.Code
}

func (b *bundle) send(as apitest.Caller, method, path, body string, header map[string]string) answer {
	b.t.Helper()
	base, client := as.Client(allocator.Name)
	r, err := http.NewRequestWithContext(b.t.Context(), method, base+path, bytes.NewBufferString(body))
	require.NoError(b.t, err)
	if body == "" {
		r.Body = http.NoBody
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	resp, err := client.Do(r)
	require.NoError(b.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	return answer{resp.StatusCode, raw, resp.Header}
}

var keys atomic.Int64

func key() map[string]string {
	return map[string]string{"Idempotency-Key": fmt.Sprint("key-", keys.Add(1))}
}

func (b *bundle) create(who actor.Actor, body string) answer {
	b.t.Helper()
	return b.send(b.stack.As(who), http.MethodPost, "/v1/instances", body, key())
}

func (b *bundle) rent(who actor.Actor, body string) allocatorapi.Instance {
	b.t.Helper()
	return instance(b.t, b.create(who, body), http.StatusCreated)
}

func instance(t *testing.T, a answer, status int) (i allocatorapi.Instance) {
	t.Helper()
	require.Equal(t, status, a.status, "%s", a.body)
	require.NoError(t, json.Unmarshal(a.body, &i))
	return i
}

func (b *bundle) get(who actor.Actor, path string) answer {
	b.t.Helper()
	return b.send(b.stack.As(who), http.MethodGet, path, "", nil)
}

// member is what an agent says of an instance's first slice.
func member(i allocatorapi.Instance, state string, more string) string {
	s := i.Slices[0]
	return fmt.Sprintf(`[{"member":%q,"instance":%q,"state":%q,"reason":"","detail":"","seats":[{"seat":"sea_x","gpu_uuid":"x","kind":"mig"}],"released":false,"cleaning":"none"%s}]`, s.Member, i.ID, state, more)
}

func gone(i allocatorapi.Instance) string {
	return fmt.Sprintf(`[{"member":%q,"instance":%q,"state":"stopped","reason":"","detail":"","seats":[],"released":true,"cleaning":"gi_destroyed"}]`, i.Slices[0].Member, i.ID)
}

func clockNow() time.Time { return clock.Real{}.Now() }

// dump is everything in the allocator's tables, as text.
func (b *bundle) dump() string {
	b.t.Helper()
	db := pgtest.Open(b.t, b.db, allocator.Name, pg.Owner, 1)
	var out bytes.Buffer
	require.NoError(b.t, db.InTx(b.t.Context(), pg.Scope{Operator: true}, func(tx *pg.Tx) error {
		var tables []string
		if err := tx.Raw(`SELECT table_name FROM information_schema.tables WHERE table_schema = 'allocator' AND table_type = 'BASE TABLE'`).Scan(&tables).Error; err != nil {
			return err
		}
		for _, name := range tables {
			var rows []string
			if err := tx.Raw(`SELECT t::text FROM allocator.` + name + ` t`).Scan(&rows).Error; err != nil {
				return err
			}
			for _, r := range rows {
				fmt.Fprintln(&out, r)
			}
		}
		return nil
	}))
	return out.String()
}

// orgOf finds whose an instance is.
func (b *bundle) orgOf(i allocatorapi.Instance) (org string) {
	b.t.Helper()
	db := pgtest.Open(b.t, b.db, allocator.Name, pg.Work, 1)
	require.NoError(b.t, db.InTx(b.t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return tx.Raw(`SELECT org FROM instance WHERE id = ?`, i.ID).Scan(&org).Error
	}))
	return org
}

// rowsOf checks that the api role sees an org's rows and no others', in every table.
func (b *bundle) rowsOf(org string, instances int) {
	b.t.Helper()
	db := pgtest.Open(b.t, b.db, allocator.Name, pg.API, 1)
	for _, scope := range []pg.Scope{{Org: org}, {}} {
		for _, table := range []string{"instance", "member", "seat", "transition", "limit_usage", "idempotency", "outbox", "org_copy", "limit_copy"} {
			var mine, all int
			require.NoError(b.t, db.InTx(b.t.Context(), scope, func(tx *pg.Tx) error {
				if err := tx.Raw(`SELECT count(*) FROM ` + table).Scan(&all).Error; err != nil {
					return err
				}
				return tx.Raw(`SELECT count(*) FROM `+table+` WHERE org = ?`, org).Scan(&mine).Error
			}))
			require.Equal(b.t, mine, all, table)
			if scope.Org == "" {
				require.Zero(b.t, all, table)
			} else if table == "instance" {
				require.Equal(b.t, instances, all)
			}
		}
	}
}
