package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/authz"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/gateway/internal/agents"
	"github.com/weirhq/weir/services/gateway/internal/api"
	"github.com/weirhq/weir/services/gateway/internal/limit"
	"github.com/weirhq/weir/services/gateway/internal/peer"
	"github.com/weirhq/weir/services/gateway/internal/proxy"
	"github.com/weirhq/weir/services/gateway/internal/spec"
	"github.com/weirhq/weir/services/gateway/internal/tunnel"
	"github.com/weirhq/weir/services/gateway/internal/who"
)

// Name is the service's name on the mesh.
const Name = "gateway"

// proxyTimeout bounds how long a service may take to answer.
const proxyTimeout = time.Minute

// joinLimit is how many machines may try to join in a second from one address: a rack
// behind one address comes at once, and a join token cannot be guessed.
const joinLimit = 500

// service is the module between New and Stop.
type service struct {
	cfg     Config
	env     host.Env
	public  http.Handler
	agents  *agents.Door
	tunnels *tunnel.Registry

	publicLn, agentsLn net.Listener
}

// New returns the gateway. Its two doors are opened when it starts, after the services
// that it depends on.
func New(cfg Config, env host.Env) (*host.Module, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &service{cfg: cfg, env: env, tunnels: tunnel.NewRegistry(env.Real, env.Log)}
	tokens := who.NewTokens(authn.NewMinter(cfg.Key, env.Real), env.Real)
	peers, err := peer.New(env.Mesh, tokens)
	if err != nil {
		return nil, err
	}
	limiter := limit.NewBuckets(cfg.RateLimit, env.Real)
	if s.public, err = s.publicDoor(peers, tokens, limiter); err != nil {
		return nil, err
	}
	s.agents, err = agents.New(agents.Options{
		Hosts: cfg.hosts(), Clock: env.Real, Log: env.Log, Mesh: env.Mesh,
		Tokens: tokens, Limiter: limit.NewBuckets(min(cfg.RateLimit, 1)*joinLimit, env.Real), Inventory: peers, Tunnels: s.tunnels,
	})
	if err != nil {
		return nil, err
	}
	return &host.Module{
		Name: Name, Start: s.start, Stop: s.stop,
		Ready: func(context.Context) error { return s.agents.Ready() },
		Workers: []host.Worker{
			{Name: "public door", Run: func(ctx context.Context) error { return serve(ctx, s.publicLn, s.public, env.Log, stopGrace) }},
			{Name: "agents' door", Run: s.serveAgents},
			{Name: "certificate", Run: s.agents.Renew},
			{Name: "revocations", Run: s.agents.Watch},
		},
	}, nil
}

// composed are the operations whose answers show instances to their org.
var composed = map[string]bool{
	"listInstances": true, "getInstance": true, "createInstance": true, "stopInstance": true, "deleteInstance": true,
}

// publicDoor is one engine: the gateway's own operations, and every other one of the
// merged contract passed on to its service.
func (s *service) publicDoor(peers *peer.Peers, tokens *who.Tokens, limiter limit.Limiter) (http.Handler, error) {
	contract, err := spec.Merge()
	if err != nil {
		return nil, err
	}
	routes, err := spec.Routes()
	if err != nil {
		return nil, err
	}
	callers := who.NewCredentials(peers, limiter, s.env.Real)
	own, err := (&api.Handlers{Clock: s.env.Real, Peers: peers, Nodes: s.tunnels, Contract: contract, Ready: s.cfg.Ready}).Door()
	if err != nil {
		return nil, err
	}
	engine := httpx.NewEngine(httpx.Options{
		Service: Name, Log: s.env.Log, Clock: s.env.Real, AccessLevel: slog.LevelInfo,
		Doors: []httpx.Door{own}, Identify: callers.IdentifyOrNobody,
		Use: []gin.HandlerFunc{limit.Middleware(limiter), api.Recheck(callers.Identify)},
	})
	p := proxy.New(s.env.Mesh, tokens, callers.Identify, s.env.Log)
	for _, r := range routes {
		f := proxy.Forward{Service: r.Service, Public: authz.Table[r.Operation].Who.Public(), Timeout: proxyTimeout}
		if r.Stream {
			f.Timeout = 0
		}
		if composed[r.Operation] {
			f.Modify = proxy.WithCosts(peers, s.env.Log) //nolint:bodyclose // it changes a body that the proxy closes
		}
		h, err := p.Handler(f)
		if err != nil {
			return nil, err
		}
		engine.Handle(r.Method, httpx.Route(r.Path), h)
	}
	return engine, nil
}

// start opens both addresses first, so that a taken one is said before anything else.
func (s *service) start(ctx context.Context) (err error) {
	if s.publicLn, err = listen(ctx, s.cfg.Addr); err != nil {
		return err
	}
	if s.agentsLn, err = listen(ctx, s.cfg.AgentAddr); err != nil {
		return err
	}
	if s.cfg.Opened != nil {
		s.cfg.Opened(s.publicLn.Addr(), s.agentsLn.Addr())
	}
	return s.agents.Prepare(ctx)
}

func (s *service) serveAgents(ctx context.Context) error {
	return serve(ctx, tls.NewListener(s.agentsLn, s.agents.TLS()), s.agents.Handler(), s.env.Log, 0)
}

// stop closes what start opened and no worker has closed.
func (s *service) stop(context.Context) error {
	s.tunnels.Close()
	for _, ln := range []net.Listener{s.publicLn, s.agentsLn} {
		if ln != nil {
			if err := ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				return err
			}
		}
	}
	return nil
}
