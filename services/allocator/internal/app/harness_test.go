package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
	"github.com/weirhq/weir/services/allocator/internal/app"
	"github.com/weirhq/weir/services/allocator/internal/domain"
	"github.com/weirhq/weir/services/allocator/internal/store"
)

// bundle is an allocator without its doors: a database, a writer that leads, use cases.
type bundle struct {
	t        *testing.T
	db       pg.Database
	api, own *pg.DB
	store    *store.Store
	writer   *app.Writer
	app      *app.App
	clk      *clock.Fake // nil on the real clock
	stop     func()
	seq      map[string]int64
	wrap     func(domain.Ledger) domain.Ledger
	checked  bool
}

const timeout = 40 * time.Second

type option func(*bundle)

// frozen puts the writer on a clock that only the test moves.
func frozen(b *bundle) { b.clk = clock.NewFake(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)) }

// over puts something between the writer and its database.
func over(wrap func(domain.Ledger) domain.Ledger) option {
	return func(b *bundle) { b.wrap = wrap }
}

func setup(t *testing.T, options ...option) *bundle {
	b := &bundle{t: t, db: pgtest.New(t, store.Schema), seq: map[string]int64{}, checked: true}
	for _, o := range options {
		o(b)
	}
	b.api, b.own = pgtest.Open(t, b.db, store.Schema, pg.API, 8), pgtest.Open(t, b.db, store.Schema, pg.Work, 8)
	b.store = store.New(b.api, b.own)
	b.start()
	t.Cleanup(func() {
		if b.checked {
			broken, err := b.store.Check(context.WithoutCancel(t.Context()))
			require.NoError(t, err)
			require.Empty(t, broken)
		}
		b.stop()
	})
	return b
}

// start makes a writer and waits until it leads.
func (b *bundle) start() {
	b.build()
	b.lead()
}

// build makes a process that does not run yet.
func (b *bundle) build() {
	var clk clock.Clock = clock.Real{}
	if b.clk != nil {
		clk = b.clk
	}
	log := slog.New(slog.NewTextHandler(b.t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	var ledger domain.Ledger = b.store
	if b.wrap != nil {
		ledger = b.wrap(ledger)
	}
	b.writer = app.NewWriter(app.WriterConfig{NodeTimeout: timeout, PrepareTimeout: 5 * time.Minute, Address: "test"},
		app.WriterDeps{Ledger: ledger, Real: clk, Business: clk, Log: log})
	b.app = app.New(app.Deps{Reader: b.store, Checker: b.store, Sealer: plain{}, Real: clk, Business: clk, Log: log,
		Sync: func(context.Context, ...string) error { return nil }}, b.writer)
}

func (b *bundle) lead() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.t.Context()))
	done := make(chan error, 1)
	go func() { done <- b.writer.Run(ctx) }()
	b.stop = func() {
		cancel()
		require.NoError(b.t, <-done)
		b.stop = func() {}
		if b.clk == nil {
			return
		}
		// The server takes a moment to notice that the session is gone, and a frozen clock
		// would not try again.
		require.Eventually(b.t, func() bool {
			held := 0
			err := admin(b.t, b.db).QueryRow(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&held)
			return err == nil && held == 0
		}, 10*time.Second, time.Millisecond)
	}
	require.Eventually(b.t, b.writer.Leading, 20*time.Second, time.Millisecond)
}

// restart is a new process on the same database.
func (b *bundle) restart() {
	b.stop()
	b.start()
}

// plain is no secret at all.
type plain struct{}

func (plain) Seal(_ string, env map[string]string) ([]byte, error) { return json.Marshal(env) }

func (plain) Open(_ string, sealed []byte) (env map[string]string, err error) {
	return env, json.Unmarshal(sealed, &env)
}

func (b *bundle) put(fn func(tx *pg.Tx) error) {
	b.t.Helper()
	require.NoError(b.t, b.own.InTx(b.t.Context(), pg.Scope{}, fn))
}

// org makes an org without limits, or with those that edit sets.
func (b *bundle) org(edit ...func(*domain.Limits)) string {
	b.t.Helper()
	o := domain.Org{ID: id.New(id.Org, time.Now()), Name: "acme", Currency: "CNY", TimeZone: "Asia/Shanghai", BillingMode: "postpaid", Standing: "good", Approved: true, Version: 1}
	b.setOrg(o)
	l := domain.Limits{Org: o.ID, Version: 1}
	for _, e := range edit {
		e(&l)
	}
	b.setLimits(l)
	return o.ID
}

func (b *bundle) setOrg(o domain.Org) {
	b.t.Helper()
	b.put(func(tx *pg.Tx) error { return store.Copies{}.Orgs(tx, []domain.Org{o}) })
	require.NoError(b.t, b.writer.OrgsChanged(b.t.Context(), []domain.Org{o}))
}

func (b *bundle) setLimits(l domain.Limits) {
	b.t.Helper()
	b.put(func(tx *pg.Tx) error { return store.Copies{}.Limits(tx, []domain.Limits{l}) })
	require.NoError(b.t, b.writer.LimitsChanged(b.t.Context(), []domain.Limits{l}))
}

func (b *bundle) setNode(n domain.Node) {
	b.t.Helper()
	b.put(func(tx *pg.Tx) error { return store.Copies{}.Nodes(tx, []domain.Node{n}) })
	require.NoError(b.t, b.writer.NodesChanged(b.t.Context(), []domain.Node{n}))
}

// node brings up a node of cards of a board, which has reported in full, with prices for
// all that it offers.
func (b *bundle) node(board string, cards int) domain.Node {
	b.t.Helper()
	n := newNode(b.t, board, cards)
	b.setNode(n)
	var prices []domain.Price
	for _, o := range domain.Catalogue([]domain.Node{n}) {
		prices = append(prices, domain.Price{VersionID: "prc_" + o.ID, Offering: o.ID, Currency: "CNY", PerHour: money.Micro(14 * o.GPUeMicro), EffectiveFrom: time.Unix(0, 0).UTC()})
	}
	b.put(func(tx *pg.Tx) error { return store.Copies{}.Prices(tx, prices) })
	require.NoError(b.t, b.writer.PricesChanged(b.t.Context(), prices))
	b.report(n, n.BootID)
	return n
}

func newNode(t *testing.T, board string, cards int) domain.Node {
	facts, ok := mig.BoardByKey(board)
	require.True(t, ok)
	n := domain.Node{ID: id.New(id.Node, time.Now()), Name: "n-" + board, Pool: "default", Region: "local", State: domain.NodeReady, Simulated: true,
		BootID: "boot-1", VCPUsMilli: 128_000, RAMMiB: 1 << 20, Version: 1}
	for i := range cards {
		gpu := id.New(id.GPU, time.Now())
		n.GPUs = append(n.GPUs, domain.GPU{ID: gpu, UUID: "GPU-" + gpu, Index: i, Board: board, Model: facts.Model, Arch: facts.Arch,
			MemoryMiB: int64(facts.MemoryMiB), SMs: facts.SMs, Units: facts.Units, MIGMode: "off", ResetToToggle: facts.ResetToToggle, Policy: "auto",
			State: domain.CardOK, Profiles: facts.Profiles})
	}
	return n
}

// report says, in full, what a node's members do.
func (b *bundle) report(n domain.Node, boot string, members ...domain.Observed) app.Reported {
	b.t.Helper()
	out, err := b.tryReport(n, boot, members...)
	require.NoError(b.t, err)
	return out
}

func (b *bundle) tryReport(n domain.Node, boot string, members ...domain.Observed) (app.Reported, error) {
	b.seq[n.ID]++
	return b.app.Report(b.t.Context(), domain.Report{Node: n.ID, Boot: boot, Seq: b.seq[n.ID], Full: true, Members: members})
}

var keys atomic.Int64

func newKey(org string) domain.RequestKey {
	return domain.RequestKey{Org: org, Principal: "usr_1", Operation: "createInstance", Path: "/v1/instances", Key: fmt.Sprint("key-", keys.Add(1))}
}

func encode(i *domain.Instance) (int, []byte, error) {
	return 201, fmt.Appendf(nil, `{"id":%q}`, i.ID), nil
}

func (b *bundle) tryRent(org, offering string, edit ...func(*domain.CreateInput)) (*domain.Instance, error) {
	return b.rentWith(newKey(org), org, offering, edit...)
}

func (b *bundle) rentWith(key domain.RequestKey, org, offering string, edit ...func(*domain.CreateInput)) (*domain.Instance, error) {
	in := domain.CreateInput{Org: org, Name: "job", Offerings: []string{offering}, Count: 1, By: domain.Actor{Kind: "user", ID: "usr_1"}}
	for _, e := range edit {
		e(&in)
	}
	return b.app.Create(b.t.Context(), in, key, encode)
}

func (b *bundle) rent(org, offering string, edit ...func(*domain.CreateInput)) *domain.Instance {
	b.t.Helper()
	i, err := b.tryRent(org, offering, edit...)
	require.NoError(b.t, err)
	return i
}

func cards(n int) func(*domain.CreateInput) { return func(in *domain.CreateInput) { in.Count = n } }

func (b *bundle) get(i *domain.Instance) *domain.Instance {
	b.t.Helper()
	got, err := b.store.Instance(b.t.Context(), i.Org, i.ID)
	require.NoError(b.t, err)
	return got
}

func (b *bundle) halt(i *domain.Instance) *domain.Instance {
	b.t.Helper()
	out, err := b.app.Stop(b.t.Context(), app.Target{Org: i.Org, ID: i.ID, By: domain.Actor{Kind: "user", ID: "usr_1"}}, false)
	require.NoError(b.t, err)
	return out
}

// saw is an observation of an instance's first member.
func saw(i *domain.Instance, s domain.ObservedState, edit ...func(*domain.Observed)) domain.Observed {
	m := i.Members[0]
	o := domain.Observed{Member: m.ID, State: s, Cleaning: domain.CleanedNothing}
	for _, seat := range m.Seats {
		o.Seats = append(o.Seats, domain.ObservedSeat{Seat: seat.ID, GPUUUID: "GPU-" + seat.GPU, Kind: seat.Kind, Live: domain.Live{DeviceUUID: "MIG-" + seat.ID}})
	}
	for _, e := range edit {
		e(&o)
	}
	return o
}

func released(o *domain.Observed) { o.Released, o.Cleaning = true, "gi_destroyed" }

func runningFor(d time.Duration) func(*domain.Observed) {
	return func(o *domain.Observed) { o.RunningAge = &d }
}

func endedAgo(d time.Duration) func(*domain.Observed) {
	return func(o *domain.Observed) { o.EndedAge = &d }
}

// pass moves the clock second by second, so that every tick is seen.
func (b *bundle) pass(d time.Duration) {
	b.t.Helper()
	for ; d > 0; d -= time.Second {
		require.NoError(b.t, b.clk.AwaitWaiters(b.t.Context(), 2)) // the tick and the lease
		b.clk.Advance(min(d, time.Second))
		b.sync()
	}
}

// sync returns once the writer has done what was queued.
func (b *bundle) sync() {
	b.t.Helper()
	require.NoError(b.t, b.writer.OrgsChanged(b.t.Context(), nil))
}

func (b *bundle) offer(org, offering string) app.Offer {
	b.t.Helper()
	offers, err := b.app.Offerings(b.t.Context(), org)
	require.NoError(b.t, err)
	for _, o := range offers {
		if o.ID == offering {
			return o
		}
	}
	b.t.Fatalf("no offering %s", offering)
	return app.Offer{}
}
