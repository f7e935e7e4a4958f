package sim

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/services/sim/internal/api"
	"github.com/weirhq/weir/services/sim/internal/app"
	"github.com/weirhq/weir/services/sim/internal/fleet"
	"github.com/weirhq/weir/services/sim/internal/peer"
)

// Name is the service's name on the mesh.
const Name = "sim"

// New returns the host of simulated nodes. It asks the inventory for join tokens when it
// starts, so it starts after it; it says farewell for its nodes when it stops, so it stops
// before everything that hears of that: give it last.
func New(cfg Config, env host.Env) (*host.Module, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	inventory, err := peer.NewInventory(env.Mesh)
	if err != nil {
		return nil, fmt.Errorf("reach the inventory: %w", err)
	}
	nodes := make([]fleet.Node, len(cfg.Nodes))
	for i, n := range cfg.Nodes {
		nodes[i] = fleet.Node(n)
	}
	f := fleet.New(fleet.Config{Nodes: nodes, StateDir: cfg.StateDir, Runtime: cfg.Runtime, Server: cfg.AgentURL, Version: cfg.Version},
		inventory, env.Real, env.Log)
	handler, err := api.New(app.New(f, inventory, env.Log), env, Name)
	if err != nil {
		return nil, fmt.Errorf("build the door: %w", err)
	}
	return &host.Module{
		Name: Name, Handler: handler, Ready: f.Ready,
		Start: func(ctx context.Context) error {
			if err := f.Open(ctx); err != nil {
				return err
			}
			if missing := f.Missing(); len(missing) > 0 && cfg.Weak != nil {
				cfg.Weak(missing)
			}
			return nil
		},
		Workers: []host.Worker{{Name: "nodes", Run: f.Run}},
		Drain: func(ctx context.Context) error {
			f.Farewell(ctx)
			return nil
		},
		Stop: func(context.Context) error { return f.Close() },
	}, nil
}
