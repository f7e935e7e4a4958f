package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weirhq/weir/services/agent/runtime"
	"github.com/weirhq/weir/services/agent/shim"
)

// Config is what the runtime works with.
type Config struct {
	Dir      string // made when missing, for root alone
	UIDFirst int    // first uid for members; 0: 200000
	UIDCount int    // how many; 0: 10000
	KeepLogs int    // logs of how many ended members; 0: 256
	Log      *slog.Logger
}

const (
	startWithin = 30 * time.Second
	killWithin  = 5 * time.Second
	defaultLog  = 16 // MiB
)

// Runtime implements runtime.Runtime.
type Runtime struct {
	cfg    Config
	walls  shim.Walls
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	boot    string
	notify  func(string)
	members map[string]*member
	watches sync.WaitGroup
}

// member is one that has a folder.
type member struct {
	name  string
	dir   string
	state shim.State
	ended chan struct{} // closed once exit is final

	mu       sync.Mutex
	exit     *shim.Exit
	vanished bool
}

// New finds out which walls this machine allows. Processes of members are adopted later, by Adopt.
func New(ctx context.Context, cfg Config) (*Runtime, error) {
	cfg.UIDFirst, cfg.UIDCount, cfg.KeepLogs = or(cfg.UIDFirst, 200_000), or(cfg.UIDCount, 10_000), or(cfg.KeepLogs, 256)
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the process runtime's folder: %w", err)
	}
	cfg.Dir = dir
	for _, d := range []string{"members", "uids", "ended", "probe"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("make the process runtime's folder: %w", err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("close the process runtime's folder: %w", err)
	}
	r := &Runtime{cfg: cfg, members: map[string]*member{}}
	r.walls = r.probe(ctx)
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return r, nil
}

func or(n, d int) int {
	if n == 0 {
		return d
	}
	return n
}

// probe tries the walls from the strongest down.
func (r *Runtime) probe(ctx context.Context) shim.Walls {
	root := os.Geteuid() == 0
	candidates := []shim.Walls{{OwnUID: root, UserNS: true, Namespaces: true}}
	if root {
		candidates = append(candidates, shim.Walls{OwnUID: true, Namespaces: true})
	}
	for _, w := range candidates {
		err := r.try(ctx, w)
		if err == nil {
			if missing := w.Missing(); len(missing) > 0 {
				r.cfg.Log.Warn("weaker isolation of members on this machine", "missing", missing)
			}
			return w
		}
		r.cfg.Log.Warn("this machine does not allow a sandbox", "walls", w, "error", err)
	}
	plain := shim.Walls{OwnUID: root}
	r.cfg.Log.Warn("members run without a sandbox on this machine", "missing", plain.Missing())
	return plain
}

func (r *Runtime) try(ctx context.Context, w shim.Walls) error {
	within, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	dir, err := os.MkdirTemp(filepath.Join(r.cfg.Dir, "probe"), "")
	if err != nil {
		return fmt.Errorf("probe the sandbox: %w", err)
	}
	defer os.RemoveAll(dir)
	uid, err := r.takeUID("probe", w.OwnUID)
	if err != nil {
		return err
	}
	defer r.freeUID(uid.number, w.OwnUID)
	defer uid.handedOver()
	return shim.Probe(within, dir, uid.number, uid.lock, w)
}

// Facts says how strong the walls are here.
func (r *Runtime) Facts() runtime.Facts {
	f := runtime.Facts{Name: "process", Isolation: runtime.Sandboxed, Missing: r.walls.Missing()}
	if len(f.Missing) > 0 {
		f.Isolation = runtime.Weak
	}
	return f
}

// Start runs a command under a new shim.
func (r *Runtime) Start(ctx context.Context, s runtime.Spec) (runtime.State, error) {
	if s.Image != "" {
		return runtime.State{}, fmt.Errorf("%w: this node runs commands without images, so %q cannot be used", runtime.ErrRefused, s.Image)
	}
	r.mu.Lock()
	known := r.members[s.Member]
	r.mu.Unlock()
	if known != nil {
		return known.observe(), nil
	}
	within, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	dir := r.dirOf(s.Member)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return runtime.State{}, fmt.Errorf("make the member's folder: %w", err)
	}
	uid, err := r.takeUID(s.Member, r.walls.OwnUID)
	if err != nil {
		os.RemoveAll(dir)
		return runtime.State{}, err
	}
	limit := or(s.LogLimitMiB, defaultLog)
	state, err := shim.Launch(within, shim.Spec{Dir: dir, Member: s.Member, Boot: r.boot, Command: s.Command, Env: runtime.Environ(s),
		UID: uid.number, Walls: r.walls, LogLimit: int64(limit) << 20, Hostname: hostname(s.Member)}, uid.lock)
	uid.handedOver()
	if err != nil {
		r.freeUID(uid.number, uid.own)
		os.RemoveAll(dir)
		return runtime.State{}, err
	}
	return r.track(s.Member, dir, state).observe(), nil
}

// hostname is a name a member may see.
func hostname(member string) string { return member[max(0, len(member)-63):] }

func (r *Runtime) dirOf(member string) string { return filepath.Join(r.cfg.Dir, "members", member) }

// track watches over a member that runs.
func (r *Runtime) track(name, dir string, state shim.State) *member {
	m := &member{name: name, dir: dir, state: state, ended: make(chan struct{})}
	r.mu.Lock()
	r.members[name] = m
	r.mu.Unlock()
	r.watches.Go(func() { r.watch(m) })
	return m
}

// watch waits for the shim's end, which is the member's.
func (r *Runtime) watch(m *member) {
	h, err := m.state.Shim.Open()
	if err == nil {
		defer h.Close()
		err = h.Wait(r.ctx)
	}
	if r.ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(err, shim.ErrGone) {
		r.cfg.Log.Error("member cannot be watched", "member", m.name, "error", err)
	}
	shim.Bury(m.state.Shim)
	m.settle(r.ctx)
	if r.notify != nil {
		r.notify(m.name)
	}
}

// settle takes down how the member ended, and makes sure that it did.
func (m *member) settle(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.exit != nil {
		return
	}
	_ = kill(ctx, m.state) // its processes die with the shim; this waits for it, and is for a kernel that forgot
	exit, ok, err := shim.ReadExit(m.dir)
	if err != nil || !ok {
		m.vanished = true
		exit = shim.Exit{EndedAt: max(m.state.RunningAt, shim.ReadBeat(m.dir))}
	}
	m.exit = &exit
	close(m.ended)
}

func (m *member) observe() runtime.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := runtime.State{Phase: runtime.Running, PID: m.state.Init.PID, RunningAt: m.state.RunningAt}
	if m.exit != nil {
		s.Phase, s.EndedAt, s.ExitCode, s.Signal, s.Vanished = runtime.Exited, m.exit.EndedAt, m.exit.Code, m.exit.Signal, m.vanished
	}
	return s
}

// Observe says what became of a member.
func (r *Runtime) Observe(_ context.Context, name string) (runtime.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.members[name]
	if m == nil {
		return runtime.State{Phase: runtime.Absent}, nil
	}
	return m.observe(), nil
}

// Stop asks with TERM, waits for grace, then kills.
func (r *Runtime) Stop(ctx context.Context, name string, grace time.Duration) (runtime.State, error) {
	r.mu.Lock()
	m := r.members[name]
	r.mu.Unlock()
	if m == nil {
		return runtime.State{Phase: runtime.Absent}, nil
	}
	h, err := m.state.Shim.Open()
	if err == nil {
		defer h.Close()
		_ = h.Signal(unix.SIGTERM)
		if m.endsWithin(ctx, grace) {
			return m.observe(), nil
		}
		_ = h.Signal(unix.SIGUSR1)
		if m.endsWithin(ctx, killWithin) {
			return m.observe(), nil
		}
		_ = h.Signal(unix.SIGKILL) // a shim that does not obey; its command dies with it
	}
	if m.endsWithin(ctx, killWithin) {
		return m.observe(), nil
	}
	if ctx.Err() != nil {
		return runtime.State{}, ctx.Err()
	}
	return m.observe(), fmt.Errorf("member %s: %w", name, runtime.ErrStillRunning)
}

func (m *member) endsWithin(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-m.ended:
		return true
	case <-ctx.Done():
		return false
	case <-t.C:
		return false
	}
}

// Close stops watching. Members run on.
func (r *Runtime) Close() error {
	r.cancel()
	r.watches.Wait()
	return nil
}
