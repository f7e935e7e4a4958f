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
)

// Group is a set of running modules.
type Group struct {
	env     Env
	modules []*Module
	servers []*http.Server
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	failed  chan error
}

// Start starts the modules in order. On an error what was started is stopped again.
func Start(ctx context.Context, env Env, modules ...*Module) (*Group, error) {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g := &Group{env: env, cancel: cancel, failed: make(chan error, 1)}
	for _, m := range modules {
		if err := g.start(ctx, run, m); err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", m.Name, err), g.Stop(ctx))
		}
	}
	return g, nil
}

func (g *Group) start(ctx, run context.Context, m *Module) error {
	g.modules = append(g.modules, m)
	if m.Start != nil {
		if err := m.Start(ctx); err != nil {
			return err
		}
	}
	var server *http.Server
	if m.Handler != nil {
		ln, err := g.env.Mesh.Listen(m.Name)
		if err != nil {
			return err
		}
		server = &http.Server{Handler: m.Handler, ConnContext: mesh.ConnContext, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return run }}
		g.wg.Go(func() {
			if err := server.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
				g.fail(fmt.Errorf("%s: serve: %w", m.Name, err))
			}
		})
	}
	g.servers = append(g.servers, server)
	for _, w := range m.Workers {
		g.wg.Go(func() {
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
	for _, m := range g.modules {
		if m.Ready != nil {
			if err := m.Ready(ctx); err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
		}
	}
	return nil
}

// Stop ends the workers and servers and then stops the modules in reverse order.
func (g *Group) Stop(ctx context.Context) error {
	g.cancel()
	var errs []error
	for i := len(g.servers) - 1; i >= 0; i-- {
		if s := g.servers[i]; s != nil {
			if err := s.Shutdown(ctx); err != nil {
				_ = s.Close() // streams outlive a graceful shutdown; cut them
			}
		}
	}
	g.wg.Wait()
	for i := len(g.modules) - 1; i >= 0; i-- {
		if stop := g.modules[i].Stop; stop != nil {
			errs = append(errs, stop(ctx))
		}
	}
	return errors.Join(errs...)
}
