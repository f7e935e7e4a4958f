package tenant_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the administrator's connection of these tests
	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/api/tenantmeshapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/kit/problem"
	"github.com/weirhq/weir/pkg/testkit/apitest"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
	"github.com/weirhq/weir/services/tenant"
)

const (
	goodPassword  = "correct horse battery"
	adminEmail    = "admin@weir.local"
	adminPassword = "the operator's password"
)

// bundle is the tenant service, running, with its gateway played by the tests.
type bundle struct {
	t         *testing.T
	stack     *apitest.Stack
	clk       *clock.Fake // nil on the real clock
	db        pg.Database
	admin     *sql.DB
	allocator *allocator
	mesh      *tenantmeshapi.ClientWithResponses // as the gateway
}

// allocator is the peer that confirms changes, or does not.
type allocator struct {
	mu     sync.Mutex
	synced []string
	answer func(w http.ResponseWriter, r *http.Request)
}

func (a *allocator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Feed string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	a.mu.Lock()
	a.synced = append(a.synced, body.Feed)
	answer := a.answer
	a.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (a *allocator) set(answer func(w http.ResponseWriter, r *http.Request)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer, a.synced = answer, nil
}

func (a *allocator) feeds() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.synced...)
}

// config is cheap to hash with, and otherwise what a deployment has.
func config() tenant.Config {
	cfg := tenant.Default()
	cfg.Password = tenant.PasswordCost{MemoryKiB: 64, Iterations: 1, Concurrent: 2, Waiting: 256}
	cfg.Bootstrap = []tenant.BootstrapAccount{{Email: adminEmail, Name: "Operator", Operator: true, Password: adminPassword}}
	return cfg
}

// setup runs the service on a clock that stands still.
func setup(t *testing.T) *bundle {
	return run(t, clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), config(), nil)
}

// setupReal runs it on the real clock, for what races.
func setupReal(t *testing.T) *bundle { return run(t, nil, config(), nil) }

func run(t *testing.T, clk *clock.Fake, cfg tenant.Config, change func(*host.Env)) *bundle {
	t.Helper()
	b := &bundle{t: t, clk: clk, db: pgtest.New(t, tenant.Name), allocator: &allocator{}}
	stackConfig := apitest.Config{Database: b.db}
	if clk != nil {
		stackConfig.Real = clk
	}
	b.stack = apitest.New(t, stackConfig)
	b.stack.Fake("allocator", b.allocator)
	b.stack.Serve(func(env host.Env) (*host.Module, error) {
		env = env.For(tenant.Name)
		if change != nil {
			change(&env)
		}
		return tenant.New(cfg, env)
	})
	base, client := b.stack.AsService("gateway").Client(tenant.Name)
	var err error
	b.mesh, err = tenantmeshapi.NewClientWithResponses(base, tenantmeshapi.WithHTTPClient(client))
	require.NoError(t, err)
	b.admin, err = sql.Open("pgx", b.db.AdminDSN)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.admin.Close() })
	return b
}

// sql runs a statement as the database's administrator.
func (b *bundle) sql(query string, args ...any) {
	b.t.Helper()
	_, err := b.admin.ExecContext(b.t.Context(), query, args...)
	require.NoError(b.t, err)
}

// as returns the service's client as the gateway lets who speak.
func (b *bundle) as(who actor.Actor) *tenantapi.ClientWithResponses {
	b.t.Helper()
	base, client := b.stack.As(who).Client(tenant.Name)
	c, err := tenantapi.NewClientWithResponses(base, tenantapi.WithHTTPClient(client))
	require.NoError(b.t, err)
	return c
}

// anybody is a caller without a credential.
func (b *bundle) anybody() *tenantapi.ClientWithResponses { return b.as(actor.Actor{}) }

// person is somebody logged in, as the gateway knows them.
type person struct {
	*tenantapi.ClientWithResponses
	login tenantapi.Login
	actor actor.Actor
}

var people atomic.Int64

// signUp makes a new person with a new org.
func (b *bundle) signUp() person {
	b.t.Helper()
	n := people.Add(1)
	r, err := b.anybody().SignUpWithResponse(b.t.Context(), tenantapi.SignUp{
		Email: fmt.Sprintf("p%d@example.com", n), Password: goodPassword, Name: fmt.Sprintf("Person %d", n), OrgName: fmt.Sprintf("Org %d", n),
	})
	require.NoError(b.t, err)
	require.Equal(b.t, http.StatusCreated, r.StatusCode(), "%s", r.Body)
	return b.enter(*r.JSON201)
}

// enter authenticates a login's access token as the gateway does.
func (b *bundle) enter(l tenantapi.Login) person {
	b.t.Helper()
	who, err := b.authenticate(l.AccessToken)
	require.NoError(b.t, err)
	return person{b.as(who), l, who}
}

func (b *bundle) logIn(email, password string) (tenantapi.Login, error) {
	r, err := b.anybody().LogInWithResponse(b.t.Context(), nil, tenantapi.Credentials{Email: email, Password: password})
	if err != nil {
		return tenantapi.Login{}, err
	}
	if r.JSON200 == nil {
		return tenantapi.Login{}, refusal(r.StatusCode(), r.Body, r.HTTPResponse)
	}
	return *r.JSON200, nil
}

// operator is the platform's operator, logged in.
func (b *bundle) operator() person {
	b.t.Helper()
	l, err := b.logIn(adminEmail, adminPassword)
	require.NoError(b.t, err)
	return b.enter(l)
}

func (b *bundle) authenticate(credential string) (actor.Actor, error) {
	r, err := b.mesh.AuthenticateWithResponse(b.t.Context(), tenantmeshapi.Credential{Credential: credential})
	if err != nil {
		return actor.Actor{}, err
	}
	p := r.JSON200
	if p == nil {
		return actor.Actor{}, refusal(r.StatusCode(), r.Body, r.HTTPResponse)
	}
	a := actor.Actor{Kind: actor.Kind(p.Kind), ID: p.ID, Operator: p.Operator}
	for to, from := range map[*string]*string{&a.Org: p.Org, &a.Project: p.Project, &a.Session: p.Session} {
		if from != nil {
			*to = *from
		}
	}
	if p.Role != nil {
		a.Role = actor.Role(*p.Role)
	}
	return a, nil
}

// refusal is the fault in an answer; an answer of success is none.
func refusal(status int, body []byte, resp *http.Response) error {
	return problem.Check(status, body, resp.Header)
}

// newKey mints an API key with a fresh idempotency key.
func (p person) newKey(t *testing.T, role tenantapi.Role) tenantapi.APIKeyCreated {
	t.Helper()
	r, err := p.CreateAPIKeyWithResponse(t.Context(), &tenantapi.CreateAPIKeyParams{IdempotencyKey: idemKey()}, tenantapi.APIKeyCreate{Name: "ci", Role: role})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, r.StatusCode(), "%s", r.Body)
	return *r.JSON201
}

var keys atomic.Int64

func idemKey() string { return fmt.Sprintf("k%d", keys.Add(1)) }

// raw sends a request that the generated client could not.
func (b *bundle) raw(who actor.Actor, method, path, body string, headers ...string) (*http.Response, map[string]any) {
	b.t.Helper()
	base, client := b.stack.As(who).Client(tenant.Name)
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	require.NoError(b.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(r)
	require.NoError(b.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	var answer map[string]any
	if len(raw) > 0 {
		require.NoError(b.t, json.Unmarshal(raw, &answer), "%s", raw)
	}
	return resp, answer
}

// code is the code of a refusal.
func code(err error) fault.Code { return fault.From(err).Code }

func ptr[T any](v T) *T { return &v }

func urlEscape(s string) string { return url.PathEscape(s) }
