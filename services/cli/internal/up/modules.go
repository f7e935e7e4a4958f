package up

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/services/allocator"
	"github.com/weirhq/weir/services/gateway"
	"github.com/weirhq/weir/services/inventory"
	"github.com/weirhq/weir/services/metering"
	"github.com/weirhq/weir/services/sim"
	"github.com/weirhq/weir/services/tenant"
)

// process is what startAll puts together.
type process struct {
	cfg      *config
	dir      *dataDir
	database *database
	accounts accounts
	fleet    []sim.NodeSpec
	env      host.Env
	key      ed25519.PrivateKey
	group    atomic.Pointer[host.Group]
}

// startAll starts PostgreSQL's keeper and every service, in the order of who needs whom.
func startAll(ctx context.Context, c *config, dir *dataDir, d *database, a accounts, fleet []sim.NodeSpec, log *slog.Logger) (*host.Group, error) {
	p := &process{cfg: c, dir: dir, database: d, accounts: a, fleet: fleet}
	key, err := authn.LoadOrCreateKey(dir.secrets(), "gateway-internal-token")
	if err != nil {
		return nil, errors.Join(err, d.Close(context.WithoutCancel(ctx)))
	}
	p.key = key
	p.env = host.Env{
		Log: log, Real: clock.Real{}, Business: clock.Real{}, Mesh: mesh.NewMemory(), Database: d.Database,
		GatewayKey: key.Public().(ed25519.PublicKey), Secrets: dir.secrets(),
	}
	modules := []*host.Module{{
		Name: "postgres", Workers: []host.Worker{d.supervise(p.env.Real)}, Stop: d.Close,
	}}
	for _, service := range []struct {
		name  string
		build func(host.Env) (*host.Module, error)
	}{
		{tenant.Name, p.tenant}, {inventory.Name, p.inventory}, {metering.Name, p.metering},
		{allocator.Name, p.allocator}, {gateway.Name, p.gateway}, {sim.Name, p.sim},
	} {
		m, err := service.build(p.env.For(service.name))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", service.name, err), d.Close(context.WithoutCancel(ctx)))
		}
		modules = append(modules, m)
	}
	g, err := host.Start(ctx, p.env, modules...)
	if err != nil {
		return nil, err
	}
	p.group.Store(g)
	return g, nil
}

// ready is what /readyz asks: every module of this process.
func (p *process) ready(ctx context.Context) error {
	g := p.group.Load()
	if g == nil {
		return errors.New("still starting")
	}
	return g.Ready(ctx)
}

func (p *process) tenant(env host.Env) (*host.Module, error) {
	cfg := tenant.Default()
	cfg.Bootstrap = []tenant.BootstrapAccount{
		{Email: p.accounts.admin.email, Name: "Operator", Operator: true, Password: p.accounts.admin.password, ResetPassword: p.accounts.admin.given},
		{Email: p.accounts.demo.email, Name: "Demo", OrgName: "Demo", Password: p.accounts.demo.password, ResetPassword: p.accounts.demo.given},
	}
	return tenant.New(cfg, env)
}

func (p *process) inventory(env host.Env) (*host.Module, error) {
	return inventory.New(inventory.Config{AgentURL: "https://" + p.cfg.agentAddr, NodeTimeout: p.cfg.nodeTimeout}, env)
}

func (p *process) metering(env host.Env) (*host.Module, error) {
	return metering.New(metering.DefaultConfig(), env)
}

func (p *process) allocator(env host.Env) (*host.Module, error) {
	cfg := allocator.DefaultConfig()
	cfg.NodeTimeout = p.cfg.nodeTimeout
	return allocator.New(cfg, env)
}

func (p *process) gateway(env host.Env) (*host.Module, error) {
	return gateway.New(gateway.Config{Addr: p.cfg.addr, AgentAddr: p.cfg.agentAddr, RateLimit: p.cfg.rateLimit, Key: p.key, Ready: p.ready}, env)
}

func (p *process) sim(env host.Env) (*host.Module, error) {
	return sim.New(sim.Config{Nodes: p.fleet, StateDir: p.dir.join("nodes"), Runtime: p.cfg.simRuntime, AgentURL: "https://" + p.cfg.agentAddr,
		Weak: func(missing []string) { p.cfg.weak = missing }}, env)
}
