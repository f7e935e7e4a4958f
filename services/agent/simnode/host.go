package simnode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent"
	"github.com/weirhq/weir/services/agent/runtime"
	"github.com/weirhq/weir/services/agent/runtime/null"
	"github.com/weirhq/weir/services/agent/runtime/process"
	"github.com/weirhq/weir/services/agent/simgpu"
)

// Config describes a simulated node.
type Config struct {
	Name      string
	Dir       string // everything of the node is under it
	Boards    []simgpu.Boards
	Runtime   string // process or null
	Server    string
	JoinToken string // not needed once Joined
	CAPin     string
	Facts     agent.Facts
	Clock     clock.Clock
	Log       *slog.Logger
	Version   string
	UIDFirst  int               // first uid for members of the process runtime; 0: its default
	Crash     func(step string) // see agent.Config
	Grace     time.Duration     // see agent.Config
}

// StateDir is where the agent of a node under dir keeps journal and identity.
func StateDir(dir string) string { return filepath.Join(dir, "agent") }

// Joined reports whether the node under dir has a good identity, so that it needs no token.
func Joined(dir string, now time.Time) bool { return agent.Joined(StateDir(dir), now) }

// Host is one simulated node.
type Host struct {
	cfg     Config
	cards   *simgpu.Node
	runtime *deafRuntime
	net     *network
	power   chan powerSwitch
	off     chan struct{} // closed when Run has returned

	mu    sync.Mutex
	agent *agent.Agent
	heals []chan struct{}
}

// powerSwitch asks Run to cut the power, and maybe to bring it back.
type powerSwitch struct {
	back bool
	done chan error
}

// New opens the node's cards and its runtime. Nothing runs before Run.
func New(ctx context.Context, cfg Config) (*Host, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.Real{}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cards, err := simgpu.Open(simgpu.Config{Dir: filepath.Join(cfg.Dir, "cards"), Name: cfg.Name, Boards: cfg.Boards, Clock: cfg.Clock})
	if err != nil {
		return nil, err
	}
	var rt runtime.Runtime
	switch cfg.Runtime {
	case "process":
		rt, err = process.New(ctx, process.Config{Dir: filepath.Join(cfg.Dir, "members"), UIDFirst: cfg.UIDFirst, Log: cfg.Log})
	case "null":
		rt, err = null.New(filepath.Join(cfg.Dir, "members"), nil)
	default:
		return nil, fmt.Errorf("the runtime of a simulated node is process or null, not %q", cfg.Runtime)
	}
	if err != nil {
		return nil, err
	}
	return &Host{cfg: cfg, cards: cards, runtime: &deafRuntime{Runtime: rt}, net: &network{}, power: make(chan powerSwitch), off: make(chan struct{})}, nil
}

// Name is the node's.
func (h *Host) Name() string { return h.cfg.Name }

// Facts says how the node's members are walled in.
func (h *Host) Facts() runtime.Facts { return h.runtime.Facts() }

// Snapshot says how the node's agent does.
func (h *Host) Snapshot() agent.Snapshot {
	if a := h.running(); a != nil {
		return a.Snapshot()
	}
	return agent.Snapshot{}
}

// Run is the node's life: its agent, started anew after each reboot, until ctx ends. Members run on then. It is run once.
func (h *Host) Run(ctx context.Context) error {
	defer close(h.off)
	defer h.stopTimers()
	for {
		again, err := h.boot(ctx)
		if !again {
			return err
		}
	}
}

// boot is one run of the agent. It reports whether the node was rebooted and wants another one.
func (h *Host) boot(ctx context.Context) (again bool, err error) {
	a, err := agent.New(agent.Config{
		Name: h.cfg.Name, StateDir: StateDir(h.cfg.Dir), Server: h.cfg.Server, JoinToken: h.cfg.JoinToken, CAPin: h.cfg.CAPin,
		Driver: h.cards, Runtime: h.runtime, Clock: h.cfg.Clock, Log: h.cfg.Log, Network: h.net, Facts: h.cfg.Facts,
		Version: h.cfg.Version, Crash: h.cfg.Crash, Grace: h.cfg.Grace,
	})
	if err != nil {
		return false, err
	}
	h.is(a)
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- a.Run(within) }()
	select {
	case err = <-done:
		h.is(nil)
		return false, errors.Join(err, a.Close())
	case s := <-h.power:
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			h.cfg.Log.Warn("the agent ended otherwise than it was told", "error", err)
		}
		h.is(nil)
		err = errors.Join(a.Close(), h.cutPower(ctx))
		s.done <- err
		return s.back && err == nil, err
	}
}

func (h *Host) is(a *agent.Agent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agent = a
}

func (h *Host) running() *agent.Agent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.agent
}

// cutPower ends every process and empties the cards. It is not stopped half way.
func (h *Host) cutPower(ctx context.Context) error {
	if err := h.runtime.KillAll(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return h.cards.Reboot()
}

// turn has Run cut the power. A node that does not run is cut off all the same.
func (h *Host) turn(ctx context.Context, back bool) error {
	s := powerSwitch{back, make(chan error, 1)}
	select {
	case h.power <- s:
		return <-s.done
	case <-h.off:
		return h.cutPower(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// GoDown switches the node off on purpose and ends Run: the control plane is told first, so that members end as stopped by
// the platform; then every process ends, and the boot. The node goes down even when nobody answers, and the control plane
// learns it from the next boot.
func (h *Host) GoDown(ctx context.Context) error {
	var told error
	if a := h.running(); a != nil {
		told = a.GoingDown(ctx)
	}
	return errors.Join(told, h.turn(context.WithoutCancel(ctx), false))
}

// Close lets go of the node after Run.
func (h *Host) Close() error { return h.runtime.Close() }
