// Package app owns the inventory's use cases: what an operator, a node and another service
// may ask, each as one transaction whose change and feed item are written together.
package app

import (
	"log/slog"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

// Config is what the use cases need to know.
type Config struct {
	// NodeTimeout is how long a node may be silent before it is not ready.
	NodeTimeout time.Duration
	// Server is the agents' door as machines reach it.
	Server string
}

// App runs the use cases.
type App struct {
	cfg   Config
	store domain.Store
	ca    domain.Authority
	clk   clock.Clock
	log   *slog.Logger
	ear   *domain.Ear
}

// New returns the use cases, listening for nodes since now.
func New(cfg Config, store domain.Store, ca domain.Authority, clk clock.Clock, log *slog.Logger) *App {
	return &App{cfg: cfg, store: store, ca: ca, clk: clk, log: log, ear: domain.NewEar(clk.Now())}
}

// StatusInterval is how often nodes are asked to speak: four times per time-out.
func (a *App) StatusInterval() time.Duration {
	return min(max(a.cfg.NodeTimeout/4, time.Second), 10*time.Second)
}
