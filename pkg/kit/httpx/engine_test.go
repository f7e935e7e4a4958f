package httpx_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/authz"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/pkg/kit/idem"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/obs"
)

var member = actor.Actor{Kind: actor.User, ID: "usr_1", Org: "org_1", Role: actor.Developer}

// bundle is an engine over testdata/things.yaml whose handlers do what the test says.
type bundle struct {
	engine http.Handler
	minter *authn.Minter
	log    *bytes.Buffer
	handle func(c *gin.Context) // the handler of every operation
	seen   struct {
		who  actor.Actor
		key  idem.Key
		has  bool
		id   string
		body string
	}
}

func setup(t *testing.T) *bundle {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	clk := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	spec, err := openapi3.NewLoader().LoadFromFile("testdata/things.yaml")
	require.NoError(t, err)
	require.NoError(t, spec.Validate(t.Context()))
	b := &bundle{minter: authn.NewMinter(key, clk), log: &bytes.Buffer{}}
	b.handle = func(c *gin.Context) { c.Status(http.StatusOK) }
	h := func(c *gin.Context) {
		ctx := context.Context(c) // what a generated strict handler gets
		b.seen.who, b.seen.id = actor.From(ctx), obs.RequestID(ctx)
		b.seen.key, b.seen.has = idem.From(ctx)
		body, err := io.ReadAll(c.Request.Body)
		require.NoError(t, err)
		b.seen.body = string(body)
		b.handle(c)
	}
	b.engine = httpx.NewEngine(httpx.Options{
		Service: "things", Clock: clk, Verifier: authn.NewVerifier(pub, "things", clk),
		Log:    obs.NewLogger(b.log, slog.LevelDebug),
		Mounts: map[string]http.Handler{"/internal/v1/feed": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })},
		Rules: authz.Rules{
			"listTHINGS": {Who: authz.AnyMember}, "createThing": {Who: authz.Roles(actor.Owner, actor.Developer)},
			"getThing": {Who: authz.AnyMember, Object: "thing"}, "updateThing": {Who: authz.AnyMember}, "stopThing": {Who: authz.AnyMember},
			"openDoor": {Who: authz.Anyone}, "peerOnly": {Who: authz.Services("metering")},
		},
		Doors: []httpx.Door{{Spec: spec, Register: func(r gin.IRouter) {
			r.GET("/v1/things", h)
			r.POST("/v1/things", h)
			r.GET("/v1/things/:id", h)
			r.PATCH("/v1/things/:id", h)
			r.POST("/v1/things/:id/stop", h)
			r.GET("/v1/open", h)
			r.GET("/internal/v1/peer", h)
			r.GET("/v1/undocumented", h)
		}}},
	})
	return b
}

type answer struct {
	*httptest.ResponseRecorder
	problem struct {
		Type, Title, Detail, Code string
		Status                    int
		RequestID                 string `json:"request_id"`
		Errors                    []fault.Field
	}
}

// do sends a request as who, over the gateway's connection.
func (b *bundle) do(t *testing.T, who actor.Actor, method, target, body string, header ...string) answer {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body)).WithContext(mesh.WithPeer(t.Context(), "gateway"))
	if who.Kind != actor.Anonymous {
		token, err := b.minter.Mint("things", who)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return b.serve(t, r)
}

func (b *bundle) serve(t *testing.T, r *http.Request) answer {
	t.Helper()
	a := answer{ResponseRecorder: httptest.NewRecorder()}
	b.engine.ServeHTTP(a, r)
	require.NotEmpty(t, a.Header().Get("X-Request-Id"))
	if a.Header().Get("Content-Type") == "application/problem+json" {
		require.NoError(t, json.Unmarshal(a.Body.Bytes(), &a.problem))
		require.Equal(t, a.Code, a.problem.Status)
		require.Equal(t, a.Header().Get("X-Request-Id"), a.problem.RequestID)
		require.NotEmpty(t, a.problem.Title)
		require.NotEmpty(t, a.problem.Detail)
		require.Equal(t, "/docs/errors#"+a.problem.Code, a.problem.Type)
	}
	return a
}

func TestRequestReachesItsHandler(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.do(t, member, "POST", "/v1/things", `{"name":"a","size":2}`, "Idempotency-Key", "k1", "X-Request-Id", "my-id:1")
	require.Equal(t, 200, a.Code, a.Body)
	require.Equal(t, member, b.seen.who)
	require.Equal(t, "my-id:1", b.seen.id)
	require.Equal(t, "my-id:1", a.Header().Get("X-Request-Id"))
	require.Equal(t, `{"name":"a","size":2}`, b.seen.body, "the body is put back")
	require.True(t, b.seen.has)
	require.Equal(t, "org_1|usr_1|createThing|/v1/things|k1", strings.Join([]string{b.seen.key.Org, b.seen.key.Principal, b.seen.key.Operation, b.seen.key.Path, b.seen.key.Key}, "|"))
	first := b.seen.key.Body
	b.do(t, member, "POST", "/v1/things", `{"name":"a","size":3}`, "Idempotency-Key", "k1")
	require.NotEqual(t, first, b.seen.key.Body)

	require.Equal(t, 200, b.do(t, member, "POST", "/v1/things/x/stop", "").Code)
	require.False(t, b.seen.has, "only where the document declares the key")
	require.Contains(t, b.log.String(), `"request_id":"my-id:1"`)
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, bad := range []string{"", strings.Repeat("x", 129), "a b", "x\ty", "<script>", "é"} {
		a := b.do(t, actor.Actor{}, "GET", "/v1/open", "", "X-Request-Id", bad)
		require.Equal(t, 200, a.Code)
		require.True(t, strings.HasPrefix(b.seen.id, "req_"), "replaced %q", bad)
	}
}

func TestCancellationReachesTheHandler(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(mesh.WithPeer(t.Context(), "gateway"))
	b.handle = func(c *gin.Context) {
		cancel()
		<-c.Done() // hangs here without ContextWithFallback
		httpx.WriteProblem(c.Writer, c.Request, c.Err())
	}
	a := b.serve(t, httptest.NewRequest("GET", "/v1/open", nil).WithContext(ctx))
	require.Equal(t, 503, a.Code)
}

func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.do(t, member, "GET", "/v1/nothing", "")
	require.Equal(t, "not_found", a.problem.Code)
	a = b.do(t, member, "DELETE", "/v1/things", "")
	require.Equal(t, 405, a.Code)
	require.Equal(t, "method_not_allowed", a.problem.Code)
	require.Equal(t, "GET, POST", a.Header().Get("Allow"))
	a = b.do(t, member, "GET", "/v1/things/", "")
	require.Equal(t, 404, a.Code)
	for _, id := range []string{"%00", "a%00b", "%ff", strings.Repeat("x", 300)} {
		require.Equal(t, "not_found", b.do(t, member, "GET", "/v1/things/"+id, "").problem.Code, "no database sees %q", id)
	}
	require.Equal(t, "internal", b.do(t, member, "GET", "/v1/undocumented", "").problem.Code, "a route without a document stays shut")
}

func TestErrorsOfHandlers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var err error
	b.handle = func(c *gin.Context) { httpx.StrictOptions().HandlerErrorFunc(c, err) }
	try := func(e error) answer {
		err = e
		return b.do(t, member, "GET", "/v1/things", "")
	}
	a := try(errors.New("pq: relation secret does not exist"))
	require.Equal(t, "internal", a.problem.Code)
	require.NotContains(t, a.Body.String(), "secret")
	require.Contains(t, b.log.String(), "pq: relation secret does not exist", "the log has it")

	a = try(fault.Wrap(fault.Unavailable, "The database is away.", errors.New("dial tcp")))
	require.Equal(t, 503, a.Code)
	require.NotEmpty(t, a.Header().Get("Retry-After"))
	require.NotContains(t, a.Body.String(), "dial")

	require.Equal(t, "unavailable", try(context.DeadlineExceeded).problem.Code)
	require.Equal(t, "stale", try(fault.Stale).problem.Code)

	a = try(&idem.Replay{Status: 201, Answer: []byte(`{"id":"x"}`)})
	require.Equal(t, 201, a.Code)
	require.Equal(t, "true", a.Header().Get("Idempotent-Replayed"))
	require.Equal(t, `{"id":"x"}`, a.Body.String())
	require.Equal(t, "application/json", a.Header().Get("Content-Type"))

	b.handle = func(*gin.Context) { panic("boom") }
	a = b.do(t, member, "GET", "/v1/things", "")
	require.Equal(t, "internal", a.problem.Code)
	require.NotContains(t, a.Body.String(), "boom")

	b.handle = func(c *gin.Context) {
		_, _ = c.Writer.WriteString("half")
		panic("boom")
	}
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { b.do(t, member, "GET", "/v1/things", "") }, "half an answer is cut")
}
