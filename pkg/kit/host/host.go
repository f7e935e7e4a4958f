// Package host owns the life of a process: a service is a Module value, a process is a
// list of them. Run starts them in order, keeps their workers running, and stops them in
// reverse. It never imports a concrete service.
package host

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net/http"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/pg"
)

// Env is what a process gives each of its modules.
type Env struct {
	Log      *slog.Logger
	Real     clock.Clock // leases, heartbeats, tokens, TLS
	Business clock.Clock // meters, prices
	Mesh     mesh.Mesh   // already speaking As(the module's name)
	Database pg.Database // where this module's schema lives
	// GatewayKey verifies the internal tokens that only the gateway mints.
	GatewayKey ed25519.PublicKey
	// Secrets is a 0700 folder for the keys this process owns.
	Secrets string
}

// For returns e as given to the named module: its logger and its mesh identity.
func (e Env) For(service string) Env {
	e.Log = e.Log.With("svc", service)
	e.Mesh = e.Mesh.As(service)
	return e
}

// Worker is a background loop: it returns when ctx ends, or with an error that ends the process.
type Worker struct {
	Name string
	Run  func(ctx context.Context) error
}

// Module is one service as a value.
type Module struct {
	Name    string
	Handler http.Handler // served on the mesh under Name; nil for a module without one
	Workers []Worker
	// Start runs before serving: migrations, loading keys. Optional.
	Start func(ctx context.Context) error
	// Ready reports why the module cannot serve yet; nil means it can. Optional.
	Ready func(ctx context.Context) error
	// Drain runs first at a stop, while this module and those before it still work: the
	// place for a farewell. Optional.
	Drain func(ctx context.Context) error
	// Stop runs after the module's server and workers ended: closes pools. Optional.
	Stop func(ctx context.Context) error
}
