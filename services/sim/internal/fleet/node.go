package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent"
	"github.com/weirhq/weir/services/agent/simgpu"
	"github.com/weirhq/weir/services/agent/simnode"
	"github.com/weirhq/weir/services/sim/internal/domain"
)

const (
	firstBackoff = time.Second
	maxBackoff   = 30 * time.Second
	// injectWithin is how long a fault may wait for a node that is just starting.
	injectWithin = 20 * time.Second
)

// node is one simulated node over all its starts.
type node struct {
	spec      Node
	cfg       Config
	inventory domain.Inventory
	clk       clock.Clock
	log       *slog.Logger

	mu   sync.Mutex
	host *simnode.Host // nil while it is down
}

// open opens the node's cards and runtime, with a join token when it has no identity.
func (n *node) open(ctx context.Context) error {
	dir := filepath.Join(n.cfg.StateDir, n.spec.Name)
	cfg := simnode.Config{
		Name: n.spec.Name, Dir: dir, Runtime: n.cfg.Runtime, Server: n.cfg.Server, Version: n.cfg.Version, Clock: n.clk, Log: n.log,
		Boards: []simgpu.Boards{{Board: n.spec.Board, Count: n.spec.Cards, Policy: n.spec.Policy}},
		Facts:  agent.Facts{Hostname: n.spec.Name, VCPUsMilli: n.spec.VCPUMilli, RAMMiB: n.spec.RAMMiB},
	}
	if err := n.admit(ctx, &cfg); err != nil {
		return err
	}
	host, err := simnode.New(ctx, cfg)
	if err != nil {
		return fmt.Errorf("open simulated node %s: %w", n.spec.Name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host = host
	return nil
}

// admit gives the node a join token, if it has no identity. One whose identity the
// inventory does not honour stays out: nobody but an operator may give it another.
func (n *node) admit(ctx context.Context, cfg *simnode.Config) error {
	if !simnode.Joined(cfg.Dir, n.clk.Now()) {
		token, err := n.inventory.JoinToken(ctx, n.spec.Name)
		if err != nil {
			return fmt.Errorf("get a join token for %s: %w", n.spec.Name, err)
		}
		cfg.JoinToken, cfg.CAPin = token.Secret, token.CAPin
		return nil
	}
	switch state, err := n.inventory.State(ctx, n.spec.Name); {
	case err != nil:
		return fmt.Errorf("ask for node %s: %w", n.spec.Name, err)
	case state == domain.Retired:
		n.log.WarnContext(ctx, "this simulated node is retired and stays so")
	case state == "":
		n.log.ErrorContext(ctx, "this simulated node joined another database; give this one another state directory", "dir", cfg.Dir)
	}
	return nil
}

func (n *node) current() *simnode.Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host
}

// close lets go of the host, if there is one.
func (n *node) close() error {
	n.mu.Lock()
	host := n.host
	n.host = nil
	n.mu.Unlock()
	if host == nil {
		return nil
	}
	return host.Close()
}

// run keeps the node up until ctx ends, or until it is switched off.
func (n *node) run(ctx context.Context, leaving *atomic.Bool) {
	backoff := firstBackoff
	for {
		began := n.clk.Now()
		err := n.live(ctx)
		if ctx.Err() != nil {
			return
		}
		if leaving.Load() {
			<-ctx.Done()
			return
		}
		if n.clk.Now().Sub(began) > maxBackoff {
			backoff = firstBackoff
		}
		n.log.ErrorContext(ctx, "simulated node ended and starts again", "err", err, "in", backoff)
		if clock.Sleep(ctx, n.clk, backoff) != nil {
			return
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// live is one start of the node.
func (n *node) live(ctx context.Context) error {
	host := n.current()
	if host == nil {
		if err := n.open(ctx); err != nil {
			return err
		}
		host = n.current()
	}
	err := host.Run(ctx)
	if ctx.Err() != nil {
		return nil // the host stays for Close, after a farewell perhaps
	}
	if cerr := n.close(); cerr != nil {
		n.log.WarnContext(ctx, "simulated node not closed", "err", cerr)
	}
	return err
}

// goDown switches the node off, if it is on.
func (n *node) goDown(ctx context.Context) error {
	host := n.current()
	if host == nil {
		return nil
	}
	return host.GoDown(ctx)
}

// inject makes a fault happen, and returns its id.
func (n *node) inject(ctx context.Context, f domain.Fault) (string, error) {
	host := n.current()
	if host == nil {
		return "", fault.New(fault.Unavailable, "This node is just starting. Try again in a moment.")
	}
	in := simnode.Fault{Kind: string(f.Kind), GPU: f.GPU, Seconds: f.Seconds, Direction: simnode.Direction(f.Direction)}
	if f.Xid != nil {
		in.Xid = *f.Xid
	}
	ctx, cancel := context.WithTimeout(ctx, injectWithin)
	defer cancel()
	done, err := host.Inject(ctx, in)
	return done.ID, err
}
