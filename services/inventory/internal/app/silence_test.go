package app_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
	"github.com/weirhq/weir/services/inventory/internal/app"
	"github.com/weirhq/weir/services/inventory/internal/ca"
	"github.com/weirhq/weir/services/inventory/internal/domain"
	"github.com/weirhq/weir/services/inventory/internal/store"
)

// flaky is a store whose database can be away.
type flaky struct {
	domain.Store
	away bool
}

func (f *flaky) Write(ctx context.Context, fn func(domain.Tx) error) error {
	if f.away {
		return fault.New(fault.Unavailable, "away")
	}
	return f.Store.Write(ctx, fn)
}

type bundle struct {
	t     *testing.T
	clk   *clock.Fake
	store *flaky
	ca    domain.Authority
	app   *app.App
	seq   int64
}

func setup(t *testing.T) *bundle {
	t.Helper()
	db := pgtest.New(t, "inventory")
	b := &bundle{t: t, clk: clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	b.store = &flaky{Store: store.New(pgtest.Open(t, db, "inventory", pg.API, 1), pgtest.Open(t, db, "inventory", pg.Work, 2), b.clk, func() {})}
	authority, err := ca.LoadOrCreate(t.TempDir(), b.clk)
	require.NoError(t, err)
	b.ca = authority
	b.restart()
	return b
}

// restart is the service started anew on the same database.
func (b *bundle) restart() {
	b.app = app.New(app.Config{NodeTimeout: 40 * time.Second, Server: "https://x"}, b.store, b.ca, b.clk, slog.New(slog.NewTextHandler(b.t.Output(), nil)))
}

func (b *bundle) enroll(name string) string {
	b.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(b.t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	require.NoError(b.t, err)
	token, err := b.app.CreateNodeToken(b.t.Context(), name)
	require.NoError(b.t, err)
	i, err := b.app.Enroll(b.t.Context(), token.Secret, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})), name)
	require.NoError(b.t, err)
	return i.Node
}

func (b *bundle) speak(node string) error {
	b.seq++
	return b.app.Status(b.t.Context(), node, domain.Status{BootID: "b", Seq: b.seq, Protocol: 1})
}

// tick lets the loop look once a second.
func (b *bundle) tick(seconds int) {
	b.t.Helper()
	for range seconds {
		b.clk.Advance(time.Second)
		require.NoError(b.t, b.app.MarkSilent(b.t.Context()))
	}
}

func (b *bundle) is(node string, state domain.NodeState, why string) {
	b.t.Helper()
	n, err := b.app.Node(b.t.Context(), node)
	require.NoError(b.t, err)
	require.Equal(b.t, state, n.State, why)
}

func TestSilence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	quiet, loud := b.enroll("quiet"), b.enroll("loud")
	require.NoError(t, b.speak(quiet))
	require.NoError(t, b.speak(loud))
	b.tick(20)
	require.NoError(t, b.speak(loud))
	b.tick(20)
	b.is(quiet, domain.NodeReady, "40 s are not more than 40 s")
	b.tick(1)
	b.is(quiet, domain.NodeNotReady, "41 s are")
	b.is(loud, domain.NodeReady, "spoke 21 s ago")
	require.NoError(t, b.speak(quiet))
	b.is(quiet, domain.NodeReady, "heard again")
}

// Each of these hides nodes from the server, not the server from nodes: nobody is silent
// by it before another whole time-out, and everybody who says nothing is after it.
func TestSilenceWhileTheServerDidNotListen(t *testing.T) {
	t.Parallel()
	for name, absence := range map[string]func(b *bundle, node string){
		"stopped and started": func(b *bundle, _ string) {
			b.clk.Advance(time.Hour)
			b.restart()
		},
		"stalled": func(b *bundle, _ string) {
			b.clk.Advance(10 * time.Minute)
			require.NoError(b.t, b.app.MarkSilent(b.t.Context()))
		},
		"the database away": func(b *bundle, node string) {
			b.store.away = true
			for range 60 {
				b.clk.Advance(time.Second)
				require.ErrorIs(b.t, b.speak(node), fault.Unavailable)
				_ = b.app.MarkSilent(b.t.Context())
			}
			b.store.away = false
		},
		"the clock set back": func(b *bundle, _ string) {
			b.clk.Advance(-2 * time.Hour)
			b.tick(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			node := b.enroll("n1")
			require.NoError(t, b.speak(node))
			b.tick(35)
			absence(b, node)
			b.tick(38)
			b.is(node, domain.NodeReady, "its time-out began anew")
			b.tick(5)
			b.is(node, domain.NodeNotReady, "and is over")
		})
	}
}

// A node whose statuses fail for their own sake is silent itself and hides nobody else.
func TestABrokenNodeHidesNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	broken, quiet := b.enroll("broken"), b.enroll("quiet")
	require.NoError(t, b.speak(broken))
	require.NoError(t, b.speak(quiet))
	for range 41 {
		b.tick(1)
		require.Error(t, b.app.Status(t.Context(), broken, domain.Status{BootID: "b", Seq: 1, Protocol: 99}))
		require.Error(t, b.app.Status(t.Context(), "nod_00000000000000000000000001", domain.Status{BootID: "b", Seq: 1, Protocol: 1}))
	}
	b.is(broken, domain.NodeNotReady, "")
	b.is(quiet, domain.NodeNotReady, "")
}

func TestSweep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	node := b.enroll("n1")
	require.NoError(t, b.speak(node))
	b.clk.Advance(40 * 24 * time.Hour)
	require.NoError(t, b.app.Sweep(t.Context()))
	b.is(node, domain.NodeReady, "nodes are never swept")
	require.NoError(t, b.store.Write(t.Context(), func(tx domain.Tx) error {
		n, err := tx.ValidCertificates(node, time.Time{})
		require.Zero(t, n)
		return err
	}))
}
