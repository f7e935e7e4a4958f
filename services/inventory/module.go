package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/idem"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/inventory/internal/api"
	"github.com/weirhq/weir/services/inventory/internal/app"
	"github.com/weirhq/weir/services/inventory/internal/ca"
	"github.com/weirhq/weir/services/inventory/internal/domain"
	"github.com/weirhq/weir/services/inventory/internal/store"
	"github.com/weirhq/weir/services/inventory/internal/work"
)

// Name is the service's name on the mesh and of its schema.
const Name = "inventory"

// readers may follow the feed of nodes.
var readers = []string{"allocator", "gateway", "sim", "metering"}

// service is the module between New and Stop.
type service struct {
	cfg    Config
	env    host.Env
	module *host.Module
	pools  pg.Pools
}

// New returns the inventory service. Its schema must have been migrated before it starts.
func New(cfg Config, env host.Env) (*host.Module, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &service{cfg: cfg.withDefaults(), env: env}
	s.module = &host.Module{Name: Name, Start: s.start, Ready: s.ready, Stop: s.stop}
	return s.module, nil
}

// start opens the pools and the authority and builds the service on them. It completes the
// module: the host reads Handler and Workers after it.
func (s *service) start(ctx context.Context) (err error) {
	if s.pools, err = pg.OpenPools(ctx, s.env.Database, Name, s.cfg.MaxConns); err != nil {
		return err
	}
	authority, err := ca.LoadOrCreate(s.env.Secrets, s.env.Real)
	if err != nil {
		return err
	}
	// The feed lists by the use cases, which publish by the store, which wakes the feed.
	var uses *app.App
	feeds := outbox.NewFeeds(s.pools.Work, s.env.Real, outbox.FeedSpec{Name: domain.Feed, Readers: readers,
		List: func(ctx context.Context) ([]outbox.Item, error) { return list(ctx, uses) }})
	st := store.New(s.pools.API, s.pools.Work, s.env.Real, feeds.Wake)
	uses = app.New(app.Config{NodeTimeout: s.cfg.NodeTimeout, Server: s.cfg.AgentURL}, st, authority, s.env.Real, s.env.Log)
	mounts := map[string]http.Handler{"/internal/v1/feed": feeds.Handler(), "/internal/v1/feed/list": feeds.Handler()}
	if s.module.Handler, err = api.New(uses, s.env, Name, mounts); err != nil {
		return fmt.Errorf("build the doors: %w", err)
	}
	s.module.Workers = append(append(feeds.Workers(), idem.Pruner(s.pools.Work, s.env.Real)), work.Workers(uses, s.env.Real, s.cfg.NodeTimeout)...)
	return nil
}

// list tells every node to a reader who lost its place.
func list(ctx context.Context, uses *app.App) ([]outbox.Item, error) {
	nodes, err := uses.Items(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]outbox.Item, 0, len(nodes))
	for _, n := range nodes {
		data, err := json.Marshal(n)
		if err != nil {
			return nil, fmt.Errorf("encode node %s: %w", n.ID, err)
		}
		items = append(items, outbox.Item{Feed: domain.Feed, Key: n.ID, Data: data})
	}
	return items, nil
}

func (s *service) ready(ctx context.Context) error { return s.pools.Ping(ctx) }

func (s *service) stop(context.Context) error { return s.pools.Close() }
