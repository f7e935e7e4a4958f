package tunnel_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/gateway/internal/tunnel"
	"github.com/weirhq/weir/services/gateway/internal/tunnel/tunneltest"
)

const node = "nod_1"

type bundle struct {
	*tunnel.Registry
	clk    *clock.Fake
	server *httptest.Server
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{clk: clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	b.Registry = tunnel.NewRegistry(b.clk, slog.New(slog.DiscardHandler))
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := b.Upgrade(w, r, node, b.clk.Now().Add(time.Hour)); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		}
	}))
	t.Cleanup(b.server.Close)
	t.Cleanup(b.Close)
	return b
}

// dial connects as a node whose streams h answers. The channel closes when the node sees
// the end of its tunnel.
func (b *bundle) dial(t *testing.T, h http.HandlerFunc) (net.Conn, <-chan struct{}) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", b.server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	ended, err := tunneltest.Node(t.Context(), conn, h)
	require.NoError(t, err)
	return conn, ended
}

func (b *bundle) get(t *testing.T) string {
	t.Helper()
	resp, err := b.Get(t.Context(), node, "/logs/mem_1?follow=1&tail=2")
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

func echo(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, name+" "+r.URL.String()) }
}

func TestRequestsGoToTheNode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Get(t.Context(), node, "/logs/x")
	require.ErrorIs(t, err, fault.Unavailable)
	require.Contains(t, fault.From(err).Public, node)

	conn, _ := b.dial(t, echo("first"))
	require.Eventually(t, func() bool { return b.Has(node) }, 5*time.Second, time.Millisecond)
	require.Equal(t, "first /logs/mem_1?follow=1&tail=2", b.get(t))

	require.NoError(t, conn.Close())
	require.Eventually(t, func() bool { return !b.Has(node) }, 5*time.Second, time.Millisecond, "a broken tunnel is forgotten")
}

func TestTheNewestTunnelWins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ended := b.dial(t, echo("first"))
	require.Eventually(t, func() bool { return b.Has(node) }, 5*time.Second, time.Millisecond)
	b.dial(t, echo("second"))
	<-ended
	require.True(t, b.Has(node))
	require.Equal(t, "second /logs/mem_1?follow=1&tail=2", b.get(t))
}

func TestATunnelEndsWithItsCertificate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dial(t, echo("x"))
	require.NoError(t, b.clk.AwaitWaiters(t.Context(), 1))
	b.clk.Advance(time.Hour)
	require.Eventually(t, func() bool { return !b.Has(node) }, 5*time.Second, time.Millisecond)

	b.dial(t, echo("y"))
	require.Eventually(t, func() bool { return b.Has(node) }, 5*time.Second, time.Millisecond)
	b.Drop(node)
	b.Drop("nod_unknown")
	require.Eventually(t, func() bool { return !b.Has(node) }, 5*time.Second, time.Millisecond)
}

func TestStreamsEndWithTheirReaderOrTheTunnel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ended := make(chan struct{}, 2)
	b.dial(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "line\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		ended <- struct{}{}
	})
	require.Eventually(t, func() bool { return b.Has(node) }, 5*time.Second, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := b.Get(ctx, node, "/")
	require.NoError(t, err)
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "line\n", line)
	cancel()
	<-ended

	resp, err = b.Get(t.Context(), node, "/")
	require.NoError(t, err)
	defer resp.Body.Close()
	b.Close()
	_, err = io.ReadAll(resp.Body)
	require.Error(t, err, "half a stream is not a whole one")
	_, err = b.Get(t.Context(), node, "/")
	require.ErrorIs(t, err, fault.Unavailable)
}

func TestOnlyUpgradesAreTaken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, h := range []http.Header{{}, {"Upgrade": {"websocket"}, "Connection": {"Upgrade"}}, {"Upgrade": {"weir-tunnel"}}} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", b.server.URL, nil)
		require.NoError(t, err)
		r.Header = h
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 422, resp.StatusCode)
	}
}
