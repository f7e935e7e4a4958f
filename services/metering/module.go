package metering

import (
	"context"
	"fmt"
	"net/http"

	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/metering/internal/api"
	"github.com/weirhq/weir/services/metering/internal/app"
	"github.com/weirhq/weir/services/metering/internal/store"
	"github.com/weirhq/weir/services/metering/internal/work"
)

// Name is the service's name on the mesh and of its schema.
const Name = "metering"

// service is the module between New and Stop.
type service struct {
	cfg    Config
	env    host.Env
	module *host.Module
	pools  pg.Pools
}

// New returns the metering service. Its schema must have been migrated before it starts.
func New(cfg Config, env host.Env) (*host.Module, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &service{cfg: cfg, env: env}
	s.module = &host.Module{Name: Name, Start: s.start, Ready: s.ready, Stop: s.stop}
	return s.module, nil
}

// start opens the pools, writes missing prices, and builds the service. It completes the
// module: the host reads Handler and Workers after it.
func (s *service) start(ctx context.Context) (err error) {
	env := s.env
	if s.pools, err = pg.OpenPools(ctx, env.Database, Name, s.cfg.MaxConns); err != nil {
		return err
	}
	if err := work.PublishStarter(ctx, s.pools.Work, env.Business, env.Real); err != nil {
		return err
	}
	instances := (&work.Instances{Clock: env.Business, Log: env.Log}).Consumer(s.pools.Work, env.Mesh, env.Real)
	orgs := work.Orgs(s.pools.Work, env.Mesh, env.Real, env.Log)
	feeds := outbox.NewFeeds(s.pools.Work, env.Real, outbox.FeedSpec{Name: work.PricesFeed, Readers: []string{"allocator"},
		List: func(ctx context.Context) ([]outbox.Item, error) { return work.ListPrices(ctx, s.pools.Work) }})
	fresh := &work.Freshener{Consumers: []*outbox.Consumer{orgs, instances}, Clock: env.Real}

	doors, err := api.Doors(&app.Service{Store: store.New(s.pools.API), Clock: env.Business, Log: env.Log, Grace: s.cfg.Grace, Freshen: fresh.Freshen}, fresh.All)
	if err != nil {
		return fmt.Errorf("build the doors: %w", err)
	}
	s.module.Handler = httpx.NewEngine(httpx.Options{
		Service: Name, Log: env.Log, Clock: env.Real, Doors: doors, Verifier: authn.NewVerifier(env.GatewayKey, Name, env.Real),
		Mounts: map[string]http.Handler{outbox.Path: feeds.Handler(), outbox.ListPath: feeds.Handler()},
	})
	s.module.Workers = append(feeds.Workers(), instances.Worker(), orgs.Worker())
	return nil
}

func (s *service) ready(ctx context.Context) error { return s.pools.Ping(ctx) }

func (s *service) stop(context.Context) error { return s.pools.Close() }
