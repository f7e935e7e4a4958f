// Package app owns what an operator may ask of simulated nodes.
package app

import (
	"context"
	"log/slog"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/sim/internal/domain"
)

// App runs the use cases.
type App struct {
	fleet     domain.Fleet
	inventory domain.Inventory
	log       *slog.Logger
}

// New returns the use cases.
func New(fleet domain.Fleet, inventory domain.Inventory, log *slog.Logger) *App {
	return &App{fleet, inventory, log}
}

// Inject makes a fault happen to a node of this process.
func (a *App) Inject(ctx context.Context, node string, f domain.Fault) (domain.Fault, error) {
	if err := f.Validate(); err != nil {
		return f, err
	}
	var err error
	if f.ID, err = a.fleet.Inject(ctx, node, f); err != nil {
		return f, err
	}
	if f.ID == "" {
		return f, a.notHere(ctx, node)
	}
	a.log.InfoContext(ctx, "fault injected", "node", node, "kind", string(f.Kind), "fault", f.ID, "seconds", f.Seconds)
	return f, nil
}

// notHere tells a node that is not simulated from one that is not there at all.
func (a *App) notHere(ctx context.Context, node string) error {
	state, err := a.inventory.State(ctx, node)
	switch {
	case err != nil:
		return err
	case state != "" && state != domain.Retired:
		return fault.New(fault.Conflict, "This node is not simulated here; only simulated nodes take faults.")
	}
	return fault.New(fault.NotFound, "There is no such node.")
}
