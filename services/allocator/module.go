package allocator

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/idem"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/allocator/internal/api"
	"github.com/weirhq/weir/services/allocator/internal/app"
	"github.com/weirhq/weir/services/allocator/internal/domain"
	"github.com/weirhq/weir/services/allocator/internal/seal"
	"github.com/weirhq/weir/services/allocator/internal/store"
	"github.com/weirhq/weir/services/allocator/internal/work"
)

// Name is the service's name on the mesh and of its schema.
const Name = store.Schema

// readers may follow the feed of instances.
var readers = []string{"metering"}

// service is the module between New and Stop.
type service struct {
	cfg    Config
	env    host.Env
	module *host.Module
	pools  pg.Pools
	writer *app.Writer
}

// New returns the allocator. Its schema must have been migrated before it starts.
func New(cfg Config, env host.Env) (*host.Module, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &service{cfg: cfg, env: env}
	s.module = &host.Module{Name: Name, Start: s.start, Ready: s.ready, Stop: s.stop}
	return s.module, nil
}

// start opens the pools and builds the service on them. It completes the module: the host
// reads Handler and Workers after it.
func (s *service) start(ctx context.Context) (err error) {
	env := s.env
	if s.pools, err = pg.OpenPools(ctx, env.Database, Name, s.cfg.MaxConns); err != nil {
		return err
	}
	box, err := seal.Load(env.Secrets)
	if err != nil {
		return err
	}
	st := store.New(s.pools.API, s.pools.Work)
	feeds := outbox.NewFeeds(s.pools.Work, env.Real, outbox.FeedSpec{Name: domain.FeedName, Readers: readers, List: st.ListMembers, AsOf: env.Business})
	s.writer = app.NewWriter(
		app.WriterConfig{NodeTimeout: s.cfg.NodeTimeout, PrepareTimeout: s.cfg.PrepareTimeout, Address: s.cfg.Address},
		app.WriterDeps{Ledger: st, Real: env.Real, Business: env.Business, Log: env.Log, Committed: feeds.Wake})
	follower := work.NewFollower(s.pools.Work, env.Mesh, env.Real, env.Log, s.writer)
	uses := app.New(app.Deps{Reader: st, Checker: st, Sealer: box, Real: env.Real, Business: env.Business, Log: env.Log, Sync: follower.Sync}, s.writer)
	s.module.Handler, err = api.New(uses, env, api.Options{Service: Name, LogLimitMiB: s.cfg.LogLimitMiB,
		Mounts: map[string]http.Handler{outbox.Path: feeds.Handler(), outbox.ListPath: feeds.Handler()}})
	if err != nil {
		return fmt.Errorf("build the doors: %w", err)
	}
	s.module.Workers = append(feeds.Workers(), idem.Pruner(s.pools.Work, env.Real), work.Check(uses, env.Real, env.Log),
		host.Worker{Name: "admission-writer", Run: s.writer.Run})
	return nil
}

// errNoLeader is why the service cannot admit yet.
var errNoLeader = errors.New("the admission writer does not lead yet")

func (s *service) ready(ctx context.Context) error {
	if s.writer == nil || !s.writer.Leading() {
		return errNoLeader
	}
	return s.pools.Ping(ctx)
}

func (s *service) stop(context.Context) error { return s.pools.Close() }
