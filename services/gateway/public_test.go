package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/testkit/apitest"
	"github.com/weirhq/weir/services/gateway"
)

func TestRequestsReachTheirService(t *testing.T) {
	t.Parallel()
	w := setup(t)
	owner := actor.Actor{Kind: actor.User, ID: "usr_1", Org: "org_1", Role: actor.Owner, Session: "ses_1"}
	for path, service := range map[string]string{
		"GET /v1/me": "tenant", "GET /v1/org": "tenant", "GET /v1/projects": "tenant", "GET /v1/api-keys?limit=5": "tenant", "GET /v1/admin/orgs": "tenant",
		"GET /v1/offerings": "allocator", "DELETE /v1/instances/ins_x": "allocator", "POST /v1/instances/ins_x/stop": "allocator", "GET /v1/admin/snapshot": "allocator",
		"GET /v1/admin/nodes": "inventory", "GET /v1/admin/gpus": "inventory", "POST /v1/admin/join-tokens": "inventory",
		"GET /v1/usage?from=a&to=%zz": "metering", "GET /v1/prices": "metering", "POST /v1/admin/sim/nodes/n1/faults": "sim",
	} {
		if service == "sim" {
			w.fake("sim", nil)
		}
		method, uri, _ := strings.Cut(path, " ")
		resp := w.call(method, uri, "owner", "")
		require.Equal(t, 200, resp.StatusCode, "%s: %s", path, resp.text)
		got := w.last()
		require.Equal(t, []string{service, "gateway", method, uri}, []string{got.service, got.peer, got.method, got.uri})
		require.Equal(t, owner, got.who)
	}
}

func TestOnlyKnownHeadersPass(t *testing.T) {
	t.Parallel()
	w := setup(t)
	resp := w.call("POST", "/v1/auth/signup", "", `{"a":1}`, "Content-Type", "application/json", "X-Request-Id", "mine-1",
		"X-Weir-Actor", "usr_root", "X-Forwarded-For", "203.0.113.7", "Forwarded", "for=203.0.113.7", "Cookie", "a=b", "Connection", "close, Idempotency-Key",
		"If-Match", `"3"`, "Upgrade", "weir-tunnel", "Idempotency-Key", "k")
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, []string{"mine-1"}, resp.Header.Values("X-Request-Id"), "the door's own, once")
	got := w.last()
	require.Zero(t, got.who, "a stranger brings no token")
	require.Equal(t, `{"a":1}`, got.body)
	require.Equal(t, "mine-1", got.header.Get("X-Request-Id"))
	require.Equal(t, `"3"`, got.header.Get("If-Match"))
	require.Equal(t, []string{"127.0.0.1"}, got.header.Values("X-Forwarded-For"), "what the gateway saw, not what the caller says")
	for _, h := range []string{"X-Weir-Actor", "Forwarded", "Cookie", "Upgrade", "Authorization"} {
		require.Empty(t, got.header.Values(h), h)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for range 3 {
		require.Equal(t, 200, w.call("GET", "/v1/me", "key", "").StatusCode)
	}
	require.Equal(t, actor.Actor{Kind: actor.APIKey, ID: "key_1", Org: "org_1", Project: "prj_1", Role: actor.Viewer}, w.last().who)
	require.EqualValues(t, 1, w.asked.Load())
	n := len(w.seen)
	for _, bad := range []string{"forged", strings.Repeat("x", 9000), "a b"} {
		resp := w.call("GET", "/v1/me", bad, "")
		require.Equal(t, 401, resp.StatusCode)
		require.Equal(t, "unauthenticated", resp.json(t)["code"])
	}
	require.Equal(t, 401, w.call("GET", "/v1/me", "", "", "Authorization", "Basic eA==").StatusCode)
	require.Equal(t, 401, w.call("GET", "/v1/limits", "", "").StatusCode, "the gateway's own pages are guarded by the same table")
	require.Equal(t, 403, w.call("GET", "/v1/limits", "operator", "").StatusCode)
	require.Len(t, w.seen, n, "no service was bothered")
}

func TestNothingElseIsReachable(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for _, path := range []string{"/internal/v1/authenticate", "/internal/v1/feed", "/agent/v1/status", "/", "/v1", "/v1/instances/", "/v1/../internal/v1/ca", "/v1/%2e%2e/internal/v1/ca", "//internal/v1/ca"} {
		resp := w.call("GET", path, "owner", "")
		require.Equal(t, 404, resp.StatusCode, path)
		require.Equal(t, "not_found", resp.json(t)["code"])
	}
	resp := w.call("PUT", "/v1/instances", "owner", "")
	require.Equal(t, 405, resp.StatusCode)
	require.Equal(t, "method_not_allowed", resp.json(t)["code"])
	require.Empty(t, w.seen)
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	w := setup(t)
	require.Equal(t, 413, w.call("POST", "/v1/instances", "owner", strings.Repeat("x", 1<<20+1)).StatusCode)
	r, err := http.NewRequestWithContext(t.Context(), "POST", w.public+"/v1/instances", io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20+1))))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer owner")
	resp, err := http.DefaultClient.Do(r) // chunked
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 413, resp.StatusCode)
	require.Empty(t, w.seen)
	require.Equal(t, 431, w.call("GET", "/v1/me", "", "", "X-Long", strings.Repeat("x", 64<<10)).StatusCode)
}

func TestServiceThatIsAway(t *testing.T) {
	t.Parallel()
	w := setup(t)
	base, _ := w.stack.AsService("gateway").Client("sim")
	require.NotEmpty(t, base)
	w.stack.Fake("sim", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}))
	resp := w.call("POST", "/v1/admin/sim/nodes/n1/faults", "operator", "{}")
	require.Equal(t, 503, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
	require.Equal(t, "unavailable", resp.json(t)["code"])
	require.NotContains(t, resp.text, "EOF")
}

func TestCancellationCrosses(t *testing.T) {
	t.Parallel()
	w := setup(t)
	began, ended := make(chan struct{}), make(chan struct{})
	w.stack.Fake("sim", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", w.public+"/v1/admin/sim/nodes/n/faults", nil)
	require.NoError(t, err)
	go func() {
		<-began
		cancel()
	}()
	_, err = http.DefaultClient.Do(r) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, context.Canceled)
	<-ended
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *gateway.Config) { c.RateLimit = 1 })
	for range 2 {
		resp := w.call("GET", "/v1/me", "owner", "")
		require.Equal(t, 200, resp.StatusCode)
		require.Equal(t, `"api";q=1;w=1`, resp.Header.Get("RateLimit-Policy"))
	}
	resp := w.call("GET", "/v1/me", "owner", "")
	require.Equal(t, 429, resp.StatusCode)
	require.Equal(t, "1", resp.Header.Get("Retry-After"))
	require.Equal(t, "rate_limited", resp.json(t)["code"])
	require.Equal(t, 200, w.call("GET", "/v1/me", "key", "").StatusCode)
	require.Equal(t, 200, w.call("GET", "/healthz", "", "").StatusCode)
}

func TestHealthAndContract(t *testing.T) {
	t.Parallel()
	w := setup(t)
	require.Equal(t, `{"status":"ok"}`, strings.TrimSpace(w.call("GET", "/healthz", "", "").text))
	require.Equal(t, 200, w.call("GET", "/readyz", "", "").StatusCode)
	w.mu.Lock()
	w.unready = errNotReady
	w.mu.Unlock()
	resp := w.call("GET", "/readyz", "", "")
	require.Equal(t, 503, resp.StatusCode)
	require.Equal(t, "Not ready: allocator: recovering.", resp.json(t)["detail"])
	require.NoError(t, w.group.Ready(t.Context()), "the gateway itself is")

	resp = w.call("GET", "/openapi.json", "", "")
	require.Equal(t, 200, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("ETag"))
	doc, err := openapi3.NewLoader().LoadFromData([]byte(resp.text))
	require.NoError(t, err)
	require.NotNil(t, doc.Paths.Value("/v1/instances"))
	require.Nil(t, doc.Paths.Value("/internal/v1/ca"))
}

func TestTakenAddressIsOneSentence(t *testing.T) {
	t.Parallel()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	stack := apitest.New(t, apitest.Config{})
	for _, cfg := range []gateway.Config{{Addr: ln.Addr().String(), AgentAddr: "127.0.0.1:0"}, {Addr: "127.0.0.1:0", AgentAddr: ln.Addr().String()}} {
		cfg.Key, cfg.Ready = stack.GatewayKey(), func(context.Context) error { return nil }
		m, err := gateway.New(cfg, stack.Env("gateway"))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		require.EqualError(t, m.Start(ctx), "address "+ln.Addr().String()+" is already in use")
		cancel()
		require.NoError(t, m.Stop(t.Context()))
	}
	_, err = gateway.New(gateway.Config{Addr: "nonsense", RateLimit: -1}, stack.Env("gateway"))
	for _, part := range []string{"nonsense", "rate limit", "key", "readiness"} {
		require.ErrorContains(t, err, part)
	}
}
