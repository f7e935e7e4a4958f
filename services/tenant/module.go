package tenant

import (
	"context"
	"fmt"
	"net/http"
	_ "time/tzdata" // an org's zone must be known on machines without zone files

	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/idem"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/tenant/internal/api"
	"github.com/weirhq/weir/services/tenant/internal/app"
	"github.com/weirhq/weir/services/tenant/internal/domain"
	"github.com/weirhq/weir/services/tenant/internal/guess"
	"github.com/weirhq/weir/services/tenant/internal/password"
	"github.com/weirhq/weir/services/tenant/internal/peer"
	"github.com/weirhq/weir/services/tenant/internal/store"
	"github.com/weirhq/weir/services/tenant/internal/token"
	"github.com/weirhq/weir/services/tenant/internal/work"
)

// Name is the service's name on the mesh and of its schema.
const Name = "tenant"

// service is the module between New and Stop.
type service struct {
	cfg    Config
	env    host.Env
	module *host.Module
	pools  pg.Pools
}

// New returns the tenant service. Its schema must have been migrated before it starts.
func New(cfg Config, env host.Env) (*host.Module, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &service{cfg: cfg, env: env}
	s.module = &host.Module{Name: Name, Start: s.start, Ready: s.ready, Stop: s.stop}
	return s.module, nil
}

// start opens the pools, builds the service on them, and makes the bootstrap accounts.
// It completes the module: the host reads Handler and Workers after it.
func (s *service) start(ctx context.Context) (err error) {
	if s.pools, err = pg.OpenPools(ctx, s.env.Database, Name, s.cfg.MaxConns); err != nil {
		return err
	}
	st := store.New(s.pools.API, s.pools.Work, s.env.Real)
	feeds := outbox.NewFeeds(s.pools.Work, s.env.Real, st.Feeds()...)
	st.OnPublish(feeds.Wake)
	uses, err := s.useCases(st)
	if err != nil {
		return err
	}
	accounts := make([]domain.Bootstrap, len(s.cfg.Bootstrap))
	for i, b := range s.cfg.Bootstrap {
		accounts[i] = domain.Bootstrap(b)
	}
	if err := uses.Bootstrap(ctx, accounts); err != nil {
		return err
	}
	mounts := map[string]http.Handler{outbox.Path: feeds.Handler(), outbox.ListPath: feeds.Handler()}
	if s.module.Handler, err = api.New(uses, s.env, Name, mounts); err != nil {
		return err
	}
	s.module.Workers = append(feeds.Workers(), idem.Pruner(s.pools.Work, s.env.Real), work.SweepSessions(st, s.env.Real))
	return nil
}

func (s *service) useCases(st *store.Store) (*app.App, error) {
	key, err := authn.LoadOrCreateKey(s.env.Secrets, "tenant-access-token")
	if err != nil {
		return nil, fmt.Errorf("key of the access tokens: %w", err)
	}
	cost := s.cfg.Password
	passwords, err := password.New(password.Cost{MemoryKiB: cost.MemoryKiB, Iterations: cost.Iterations}, cost.Concurrent, cost.Waiting)
	if err != nil {
		return nil, err
	}
	allocator, err := peer.NewAllocator(s.env.Mesh)
	if err != nil {
		return nil, err
	}
	l := s.cfg.Limits
	return app.New(app.Deps{
		Store: st, Passwords: passwords, Tokens: token.New(key, s.env.Real), Guesses: guess.New(guess.Limits(s.cfg.Guesses), s.env.Real),
		Enforcer: allocator, Clock: s.env.Real, Log: s.env.Log,
		Policy: app.Policy{
			Currency: s.cfg.Currency, BillingMode: domain.BillingMode(s.cfg.BillingMode), Approved: s.cfg.Approved,
			Limits:    domain.Limits{GPUeMicro: l.GPUeMicro, Instances: l.Instances, QueuedInstances: l.QueuedInstances, VCPUsMilli: l.VCPUsMilli, RAMMiB: l.RAMMiB},
			AccessTTL: s.cfg.AccessTTL, RefreshTTL: s.cfg.RefreshTTL, SessionTTL: s.cfg.SessionTTL, EnforceWait: s.cfg.EnforceWait,
		},
	}), nil
}

func (s *service) ready(ctx context.Context) error { return s.pools.Ping(ctx) }

func (s *service) stop(context.Context) error { return s.pools.Close() }
