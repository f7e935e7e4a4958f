// Package apitest runs modules as a process would, on an in-memory mesh, and calls them
// as anybody: members, nodes, operators and other services. Peers that a test does not
// run for real are small handlers of its own.
//
//	stack := apitest.New(t, apitest.Config{Database: pgtest.New(t, "tenant")})
//	stack.Fake("metering", handler)
//	stack.Serve(func(env host.Env) (*host.Module, error) { return tenant.New(cfg, env.For("tenant")) })
//	base, client := stack.As(member).Client("tenant")
//	c, _ := tenantapi.NewClientWithResponses(base, tenantapi.WithHTTPClient(client))
package apitest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/obs"
	"github.com/weirhq/weir/pkg/kit/pg"
)

// Config is what a test may choose; the zero value is real clocks and no database.
type Config struct {
	Database pg.Database
	Real     clock.Clock
	Business clock.Clock
	Level    slog.Level // of the log that go test -v shows; the zero value is info
}

// Stack is a process under test.
type Stack struct {
	t      testing.TB
	env    host.Env
	key    ed25519.PrivateKey
	minter *authn.Minter
}

// New returns a stack without modules. It has its own gateway key.
func New(t testing.TB, cfg Config) *Stack {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	if cfg.Real == nil {
		cfg.Real = clock.Real{}
	}
	if cfg.Business == nil {
		cfg.Business = cfg.Real
	}
	return &Stack{t: t, key: key, minter: authn.NewMinter(key, cfg.Real), env: host.Env{
		Log:  slog.New(obs.Handler(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: cfg.Level}))),
		Real: cfg.Real, Business: cfg.Business, Mesh: mesh.NewMemory(), Database: cfg.Database,
		GatewayKey: pub, Secrets: t.TempDir(),
	}}
}

// Env returns what the named module is given.
func (s *Stack) Env(service string) host.Env { return s.env.For(service) }

// GatewayKey is the key that the gateway signs internal tokens with.
func (s *Stack) GatewayKey() ed25519.PrivateKey { return s.key }

// Serve builds and starts modules, in order, until the test ends. Each builder names its
// module by env.For. A module that fails
// while the test runs fails the test.
func (s *Stack) Serve(build ...func(env host.Env) (*host.Module, error)) *host.Group {
	s.t.Helper()
	var modules []*host.Module
	for _, b := range build {
		m, err := b(s.env)
		require.NoError(s.t, err)
		modules = append(modules, m)
	}
	group, err := host.Start(s.t.Context(), s.env, modules...)
	require.NoError(s.t, err)
	s.t.Cleanup(func() {
		select {
		case err := <-group.Failed():
			s.t.Errorf("a module failed: %v", err)
		default:
		}
		if err := group.Stop(context.WithoutCancel(s.t.Context())); err != nil { // a test's context ends before its cleanups
			s.t.Errorf("stop: %v", err)
		}
	})
	return group
}

// Fake serves the named service with a handler of the test.
func (s *Stack) Fake(service string, h http.Handler) {
	s.t.Helper()
	s.Serve(func(host.Env) (*host.Module, error) { return &host.Module{Name: service, Handler: h}, nil })
}

// Caller is somebody who calls services.
type Caller struct {
	stack *Stack
	who   actor.Actor
}

// As is a caller as services see it behind the gateway: requests carry an internal token
// for who, or none for the anonymous actor. A service calls on its own behalf.
func (s *Stack) As(who actor.Actor) Caller { return Caller{s, who} }

// AsService is the named service, calling on its own behalf.
func (s *Stack) AsService(name string) Caller {
	return Caller{s, actor.Actor{Kind: actor.Service, ID: name}}
}

// Client returns the base URL and client that reach the named service as the caller.
func (c Caller) Client(service string) (string, *http.Client) {
	if c.who.Kind == actor.Service {
		return c.stack.env.Mesh.As(c.who.ID).HTTPClient(service)
	}
	base, client := c.stack.env.Mesh.As("gateway").HTTPClient(service)
	return base, &http.Client{
		Transport:     transport{c, service, client.Transport},
		CheckRedirect: client.CheckRedirect,
	}
}

// transport mints a token for each request, as the gateway does.
type transport struct {
	caller  Caller
	service string
	next    http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.caller.who.Kind == actor.Anonymous {
		return t.next.RoundTrip(r)
	}
	token, err := t.caller.stack.minter.Mint(t.service, t.caller.who)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return t.next.RoundTrip(r)
}
