package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/obs"
)

// shutdownGrace is how long a module's open requests may go on once it is told to stop.
const shutdownGrace = 3 * time.Second

// Group is a set of running modules.
type Group struct {
	env     Env
	running []*running
	failed  chan error
}

// running is one module with what must be ended to stop it.
type running struct {
	module *Module
	cancel context.CancelFunc
	server *http.Server
	wg     sync.WaitGroup
}

// Start starts the modules in order. On an error what was started is stopped again.
func Start(ctx context.Context, env Env, modules ...*Module) (*Group, error) {
	g := &Group{env: env, failed: make(chan error, 1)}
	for _, m := range modules {
		if err := g.start(ctx, m); err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", m.Name, err), g.Stop(ctx))
		}
	}
	return g, nil
}

func (g *Group) start(ctx context.Context, m *Module) error {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if g.env.Log != nil {
		run = obs.WithLogger(run, g.env.Log.With("svc", m.Name))
	}
	r := &running{module: m, cancel: cancel}
	g.running = append(g.running, r)
	if m.Start != nil {
		if err := m.Start(ctx); err != nil {
			return err
		}
	}
	if m.Handler != nil {
		ln, err := g.env.Mesh.Listen(m.Name)
		if err != nil {
			return err
		}
		r.server = &http.Server{Handler: m.Handler, ConnContext: mesh.ConnContext, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return run }}
		r.wg.Go(func() {
			if err := r.server.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
				g.fail(fmt.Errorf("%s: serve: %w", m.Name, err))
			}
		})
	}
	for _, w := range m.Workers {
		r.wg.Go(func() {
			if err := w.Run(run); err != nil && run.Err() == nil {
				g.fail(fmt.Errorf("%s: worker %s: %w", m.Name, w.Name, err))
			}
		})
	}
	return nil
}

func (g *Group) fail(err error) {
	select {
	case g.failed <- err:
	default:
	}
}

// Failed delivers the first error that ended a server or a worker.
func (g *Group) Failed() <-chan error { return g.failed }

// Ready asks every module; the error names the first that is not.
func (g *Group) Ready(ctx context.Context) error {
	for _, r := range g.running {
		if r.module.Ready != nil {
			if err := r.module.Ready(ctx); err != nil {
				return fmt.Errorf("%s: %w", r.module.Name, err)
			}
		}
	}
	return nil
}

// Stop drains and ends the modules one by one, the last started first, so that each may
// use those it depends on until it is gone.
func (g *Group) Stop(ctx context.Context) error {
	var errs []error
	for i := len(g.running) - 1; i >= 0; i-- {
		errs = append(errs, g.running[i].stop(ctx))
	}
	g.running = nil
	return errors.Join(errs...)
}

func (r *running) stop(ctx context.Context) error {
	var errs []error
	if r.module.Drain != nil {
		errs = append(errs, r.module.Drain(ctx))
	}
	r.cancel()
	if r.server != nil {
		grace, cancel := context.WithTimeout(ctx, shutdownGrace)
		if err := r.server.Shutdown(grace); err != nil {
			_ = r.server.Close() // streams outlive a graceful shutdown; cut them
		}
		cancel()
	}
	r.wg.Wait()
	if r.module.Stop != nil {
		errs = append(errs, r.module.Stop(ctx))
	}
	return errors.Join(errs...)
}
