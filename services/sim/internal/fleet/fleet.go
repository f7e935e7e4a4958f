// Package fleet owns the life of simulated nodes in this process: each is a real agent on
// simulated cards, joins through the agents' door, and is started again when it ends.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/sim/internal/domain"
)

const (
	// crowd is how many nodes are opened, or say farewell, at a time.
	crowd = 16
	// farewell is how long all farewells together may take.
	farewell = 10 * time.Second
	// patience is how long readiness waits for nodes to be heard of: one that does not come
	// must not keep the rest of the product from being ready.
	patience = 30 * time.Second
)

// Node is a simulated node as asked for.
type Node struct {
	Name      string
	Board     string
	Cards     int
	Policy    string
	VCPUMilli int64
	RAMMiB    int64
}

// Config is what a fleet is made of.
type Config struct {
	Nodes                              []Node
	StateDir, Runtime, Server, Version string
}

// Fleet is the simulated nodes of this process. It implements domain.Fleet.
type Fleet struct {
	clk       clock.Clock
	inventory domain.Inventory
	nodes     []*node
	byName    map[string]*node
	leaving   atomic.Bool // the farewells are said; nothing is started again

	mu      sync.Mutex
	opened  time.Time
	settled int // how many of nodes, from the first, were heard of
}

// New returns a fleet. Nothing is touched before Open.
func New(cfg Config, inventory domain.Inventory, clk clock.Clock, log *slog.Logger) *Fleet {
	f := &Fleet{clk: clk, inventory: inventory, byName: map[string]*node{}}
	for _, spec := range cfg.Nodes {
		n := &node{spec: spec, cfg: cfg, inventory: inventory, clk: clk, log: log.With("node", spec.Name)}
		f.nodes = append(f.nodes, n)
		f.byName[spec.Name] = n
	}
	return f
}

// Open opens every node once, so that a state that does not fit what is asked for is told
// at the start.
func (f *Fleet) Open(ctx context.Context) error {
	err := f.each(func(n *node) error { return n.open(ctx) })
	if err != nil {
		return errors.Join(err, f.Close())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened = f.clk.Now()
	return nil
}

// Missing is what members here lack of the whole sandbox; nothing on most machines.
func (f *Fleet) Missing() []string {
	for _, n := range f.nodes {
		if host := n.current(); host != nil {
			return host.Facts().Missing // they all live on this machine
		}
	}
	return nil
}

// Run runs every node until ctx ends. What runs on them stays, for the next start.
func (f *Fleet) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, n := range f.nodes {
		wg.Go(func() { n.run(ctx, &f.leaving) })
	}
	wg.Wait()
	return nil
}

// Farewell switches every node off on purpose: their members end as stopped by the
// platform, and their next start is a new boot. A node that cannot say it is off all the
// same.
func (f *Fleet) Farewell(ctx context.Context) {
	f.leaving.Store(true)
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	_ = f.each(func(n *node) error {
		if err := n.goDown(ctx); err != nil {
			n.log.WarnContext(ctx, "switched off without a farewell", "err", err)
		}
		return nil
	})
}

// Close lets go of what Open took and Run did not.
func (f *Fleet) Close() error {
	return f.each((*node).close)
}

// each does something for all nodes, a crowd at a time.
func (f *Fleet) each(do func(*node) error) error {
	errs := make([]error, len(f.nodes))
	places := make(chan struct{}, crowd)
	var wg sync.WaitGroup
	for i, n := range f.nodes {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			errs[i] = do(n)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Inject implements domain.Fleet.
func (f *Fleet) Inject(ctx context.Context, name string, what domain.Fault) (string, error) {
	n, ok := f.byName[name]
	if !ok {
		return "", nil
	}
	return n.inject(ctx, what)
}

// Ready reports whether every node was heard of, once, or had its time to be.
func (f *Fleet) Ready(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.settled == len(f.nodes) {
		return nil
	}
	if f.clk.Now().Sub(f.opened) > patience {
		return nil
	}
	for ; f.settled < len(f.nodes); f.settled++ {
		name := f.nodes[f.settled].spec.Name
		state, err := f.inventory.State(ctx, name)
		if err != nil {
			return fmt.Errorf("ask for node %s: %w", name, err)
		}
		if state != domain.Ready {
			return fault.New(fault.Unavailable, fmt.Sprintf("The simulated node %s is not ready yet.", name))
		}
	}
	return nil
}
