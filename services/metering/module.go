package metering

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

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

// grace is how long after an instant facts about it may still come: longer than a node may
// be silent before it counts as unreachable.
const grace = 2 * time.Minute

// freshenWithin bounds how long a report waits for the feeds' heads.
const freshenWithin = 2 * time.Second

// service is the module between New and Stop.
type service struct {
	cfg       Config
	env       host.Env
	module    *host.Module
	api, work *pg.DB
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

// start opens the pools, makes the starter price list and builds the service. It completes
// the module: the host reads Handler and Workers after it.
func (s *service) start(ctx context.Context) (err error) {
	env := s.env
	if s.api, err = pg.Open(ctx, env.Database, Name, pg.API, s.cfg.MaxConns); err != nil {
		return err
	}
	if s.work, err = pg.Open(ctx, env.Database, Name, pg.Work, s.cfg.MaxConns); err != nil {
		return err
	}
	if err := work.PublishStarter(ctx, s.work, env.Business, env.Real); err != nil {
		return fmt.Errorf("publish the starter prices: %w", err)
	}
	feeds := outbox.NewFeeds(s.work, env.Real, outbox.FeedSpec{Name: work.PricesFeed, Readers: []string{"allocator"},
		List: func(ctx context.Context) ([]outbox.Item, error) { return work.ListPrices(ctx, s.work) }})
	follower := work.NewFollower(s.work, env.Mesh, env.Real, env.Log)
	uses := &app.Service{Store: store.New(s.api), Clock: env.Business, Log: env.Log, Grace: grace, Freshen: func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, freshenWithin)
		defer cancel()
		return follower.Sync(ctx)
	}}
	doors, err := api.Doors(uses, follower.Sync)
	if err != nil {
		return err
	}
	s.module.Handler = httpx.NewEngine(httpx.Options{
		Service: Name, Log: env.Log, Clock: env.Real, Verifier: authn.NewVerifier(env.GatewayKey, Name, env.Real), Doors: doors,
		Mounts: map[string]http.Handler{outbox.Path: feeds.Handler(), outbox.ListPath: feeds.Handler()},
	})
	s.module.Workers = append(feeds.Workers(), follower.Workers()...)
	return nil
}

func (s *service) ready(ctx context.Context) error {
	return errors.Join(s.api.Ping(ctx), s.work.Ping(ctx))
}

func (s *service) stop(context.Context) error {
	var errs []error
	for _, db := range []*pg.DB{s.api, s.work} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
