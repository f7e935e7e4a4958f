package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/testkit/apitest"
	"github.com/weirhq/weir/services/gateway"
)

type object = map[string]any

// world is a gateway between small fakes of the services.
type world struct {
	t              *testing.T
	stack          *apitest.Stack
	public, agents string // addresses of the doors
	ca             *authority
	group          *host.Group

	mu      sync.Mutex
	known   map[string]object // principals by credential
	costs   map[string]string
	noCosts bool
	unready error
	asked   atomic.Int32 // authenticate calls
	seen    []*seen      // what reached services, in order
}

// seen is a request as a service got it.
type seen struct {
	service, peer, method, uri string
	who                        actor.Actor
	header                     http.Header
	body                       string
}

type option func(*gateway.Config)

func setup(t *testing.T, options ...option) *world {
	t.Helper()
	w := &world{t: t, stack: apitest.New(t, apitest.Config{}), costs: map[string]string{}, known: map[string]object{
		"owner":    {"kind": "user", "id": "usr_1", "org": "org_1", "role": "owner", "operator": false, "session": "ses_1", "expires_at": nil},
		"key":      {"kind": "key", "id": "key_1", "org": "org_1", "project": "prj_1", "role": "viewer", "operator": false, "expires_at": nil},
		"operator": {"kind": "user", "id": "usr_9", "operator": true, "expires_at": nil},
	}}
	w.ca = newAuthority(t)
	w.fake("tenant", map[string]http.HandlerFunc{
		"POST /internal/v1/authenticate": w.authenticate,
		"GET /internal/v1/limits":        reply(200, object{"org": "org_1", "gpue": 7.5, "instances": 20, "queued_instances": nil, "vcpus": nil, "ram_mib": 1024, "version": 3}),
	})
	w.fake("allocator", map[string]http.HandlerFunc{
		"GET /internal/v1/limit-usage": reply(200, object{"org": "org_1", "gpue": 0.142857, "instances": 1, "queued_instances": 0, "vcpus": 4, "ram_mib": 512}),
		"GET /v1/instances":            reply(200, object{"items": []object{instance("ins_1"), instance("ins_2")}, "next_cursor": nil}),
		"POST /v1/instances":           reply(201, instance("ins_3")),
		"GET /v1/instances/ins_1":      reply(200, instance("ins_1")),
		"GET /v1/instances/ins_404":    problemReply(fault.New(fault.NotFound, "There is no such instance.")),
	})
	w.fake("metering", map[string]http.HandlerFunc{"GET /internal/v1/costs": w.metered})
	w.fake("inventory", map[string]http.HandlerFunc{
		"GET /internal/v1/ca":                  w.ca.show,
		"POST /internal/v1/server-certificate": w.ca.certify,
	})
	cfg := gateway.Config{
		Addr: "127.0.0.1:0", AgentAddr: "127.0.0.1:0", Key: w.stack.GatewayKey(),
		Ready: func(context.Context) error { w.mu.Lock(); defer w.mu.Unlock(); return w.unready },
		Opened: func(public, agents net.Addr) {
			w.public, w.agents = "http://"+public.String(), "https://"+agents.String()
		},
	}
	for _, o := range options {
		o(&cfg)
	}
	w.group = w.stack.Serve(func(env host.Env) (*host.Module, error) { return gateway.New(cfg, env.For("gateway")) })
	return w
}

// fake is a service: what it has no answer for it echoes with 200.
func (w *world) fake(service string, answers map[string]http.HandlerFunc) {
	verify := authn.NewVerifier(w.stack.Env(service).GatewayKey, service, clock.Real{})
	w.stack.Fake(service, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		s := &seen{service: service, peer: mesh.Peer(r.Context()), method: r.Method, uri: r.URL.RequestURI(), header: r.Header.Clone(), body: string(body)}
		if token, err := httpx.Bearer(r); err == nil && token != "" {
			if s.who, err = verify.Verify(token); err != nil {
				w.t.Errorf("%s got a bad token: %v", service, err)
			}
		}
		if !strings.HasPrefix(r.URL.Path, "/internal/") {
			w.mu.Lock()
			w.seen = append(w.seen, s)
			w.mu.Unlock()
		}
		if h := answers[r.Method+" "+r.URL.Path]; h != nil {
			h(rw, r)
			return
		}
		rw.Header().Set("X-Request-Id", "another")
		reply(200, object{"service": service})(rw, r)
	}))
}

// last is the request that reached a service last.
func (w *world) last() *seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	require.NotEmpty(w.t, w.seen, "nothing reached a service")
	return w.seen[len(w.seen)-1]
}

func (w *world) authenticate(rw http.ResponseWriter, r *http.Request) {
	w.asked.Add(1)
	var in struct{ Credential string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	w.mu.Lock()
	who, ok := w.known[in.Credential]
	w.mu.Unlock()
	if !ok || mesh.Peer(r.Context()) != "gateway" || r.Header.Get("Authorization") != "" {
		problemReply(fault.New(fault.Unauthenticated, "The credential is not valid."))(rw, r)
		return
	}
	reply(200, who)(rw, r)
}

func (w *world) metered(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.noCosts {
		problemReply(fault.New(fault.Unavailable, "away"))(rw, r)
		return
	}
	items := []object{}
	for _, id := range r.URL.Query()["instance"] {
		if c, ok := w.costs[id]; ok {
			items = append(items, object{"instance": id, "cost": object{"amount": c, "currency": "CNY"}})
		}
	}
	reply(200, object{"items": items})(rw, r)
}

func instance(id string) object {
	return object{"id": id, "name": "n<1>", "state": "running", "vcpus": json.Number("0.125"), "running_at": "2026-01-01T00:00:00Z",
		"price": object{"per_hour": "14.000000", "currency": "CNY", "version": "prc_1", "term": "on_demand"}, "cost_so_far": nil,
		"slices": []object{{"member": "mem_old", "node": "nod_0", "node_name": "gone"}, {"member": "mem_1", "node": nodeID, "node_name": "rack1"}}}
}

func reply(status int, v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
}

func problemReply(err error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { httpx.WriteProblem(w, r, err) }
}

type response struct {
	*http.Response
	text string
}

func (r response) json(t *testing.T) (m object) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(r.text), &m), r.text)
	return m
}

// call asks the public door; headers come in pairs.
func (w *world) call(method, path, credential, body string, headers ...string) response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.public+path, strings.NewReader(body))
	require.NoError(w.t, err)
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return response{resp, string(text)}
}

var errNotReady = errors.New("allocator: recovering")
