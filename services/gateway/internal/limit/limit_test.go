package limit_test

import (
	"log/slog"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/gateway/internal/limit"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestBuckets(t *testing.T) {
	t.Parallel()
	ctx, clk := t.Context(), clock.NewFake(start)
	b := limit.NewBuckets(10, clk)
	for i := range 20 {
		d := b.Take(ctx, limit.API, "a")
		require.True(t, d.OK, i)
		require.Equal(t, 19-i, d.Remaining)
		require.Equal(t, 10, d.Limit)
	}
	require.False(t, b.Peek(ctx, limit.API, "a").OK)
	d := b.Take(ctx, limit.API, "a")
	require.False(t, d.OK)
	require.Equal(t, 100*time.Millisecond, d.Reset)
	require.True(t, b.Take(ctx, limit.API, "b").OK, "each key has its own")

	clk.Advance(d.Reset)
	require.True(t, b.Peek(ctx, limit.API, "a").OK)
	require.True(t, b.Peek(ctx, limit.API, "a").OK, "a peek costs nothing")
	require.True(t, b.Take(ctx, limit.API, "a").OK)
	require.False(t, b.Take(ctx, limit.API, "a").OK)

	for range 4 {
		require.True(t, b.Take(ctx, limit.Auth, "a").OK, "signing in has a stricter budget")
	}
	require.False(t, b.Take(ctx, limit.Auth, "a").OK)

	off := limit.NewBuckets(0, clk)
	for range 1000 {
		require.Equal(t, limit.Decision{OK: true}, off.Take(ctx, limit.Auth, "a"))
	}
}

func TestMiddleware(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(start)
	e := httpx.NewEngine(httpx.Options{Service: "gateway", Log: slog.New(slog.DiscardHandler), Clock: clk, Use: []gin.HandlerFunc{limit.Middleware(limit.NewBuckets(10, clk))}})
	for _, p := range []string{"/v1/x", "/v1/auth/login", "/healthz"} {
		e.GET(p, func(c *gin.Context) { c.Status(204) })
	}
	get := func(path, address, credential string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil)
		r.RemoteAddr = address
		if credential != "" {
			r.Header.Set("Authorization", credential)
		}
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		return w
	}
	w := get("/v1/x", "192.0.2.1:1000", "Bearer a")
	require.Equal(t, 204, w.Code)
	require.Equal(t, `"api";q=10;w=1`, w.Header().Get("RateLimit-Policy"))
	require.Equal(t, `"api";r=19;t=1`, w.Header().Get("RateLimit"))
	for range 19 {
		require.Equal(t, 204, get("/v1/x", "192.0.2.9:1", "Bearer a").Code)
	}
	w = get("/v1/x", "192.0.2.1:1000", "Bearer a")
	require.Equal(t, 429, w.Code, "a credential is counted wherever it comes from")
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Contains(t, w.Body.String(), `"code":"rate_limited"`)
	require.Equal(t, 204, get("/v1/x", "192.0.2.1:1000", "Bearer b").Code)
	require.Equal(t, 204, get("/healthz", "192.0.2.1:1000", "Bearer a").Code)

	for i := range 4 {
		require.Equal(t, 204, get("/v1/auth/login", "[2001:db8::"+strconv.Itoa(i)+"]:1", "Bearer "+strconv.Itoa(i)).Code)
	}
	require.Equal(t, 429, get("/v1/auth/login", "[2001:db8::ffff]:1", "").Code, "signing in is counted by network, whatever the credential")
	require.Equal(t, 204, get("/v1/auth/login", "[2001:db8:1::1]:1", "").Code)
}
