package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrRejected is the shim's own refusal: the command could not be started.
var ErrRejected = errors.New("not started")

// Launch starts a shim in its own session and returns once the command runs. The shim outlives this process.
// uid is the lock of its uid, nil when it has none of its own.
func Launch(ctx context.Context, s Spec, uid *os.File) (State, error) {
	lock, err := hold(s.Dir)
	if err != nil {
		return State{}, err
	}
	defer lock.Close()
	answerR, answerW, err := os.Pipe()
	if err != nil {
		return State{}, fmt.Errorf("start shim: %w", err)
	}
	defer answerR.Close()
	input, feed, err := os.Pipe()
	if err != nil {
		answerW.Close()
		return State{}, fmt.Errorf("start shim: %w", err)
	}
	cmd := &exec.Cmd{Path: self, Args: []string{"weir-shim", argShim}, Env: []string{}, Dir: "/", Stdin: input,
		ExtraFiles: []*os.File{answerW, lock, uid}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	err = cmd.Start()
	input.Close()
	answerW.Close()
	if err != nil {
		feed.Close()
		return State{}, fmt.Errorf("start shim: %w", err)
	}
	state, err := s.tell(ctx, feed, answerR)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return State{}, err
	}
	_ = cmd.Process.Release() // whoever watches it buries it with Bury
	return state, nil
}

// tell gives a new shim its spec and takes its answer.
func (s Spec) tell(ctx context.Context, feed, answer *os.File) (State, error) {
	stop := context.AfterFunc(ctx, func() { answer.Close() })
	defer stop()
	err := json.NewEncoder(feed).Encode(s)
	feed.Close()
	if err != nil {
		return State{}, fmt.Errorf("tell shim what to run: %w", err)
	}
	var r ready
	if err := json.NewDecoder(answer).Decode(&r); err != nil {
		if ctx.Err() != nil {
			return State{}, ctx.Err()
		}
		return State{}, fmt.Errorf("%w: the shim gave no answer", ErrRejected)
	}
	if r.State == nil {
		return State{}, fmt.Errorf("%w: %s", ErrRejected, r.Error)
	}
	return *r.State, nil
}

// Bury clears away an ended shim where it is a child of this process: one it started, or, for the machine's first process,
// one whose agent died.
func Bury(p Process) { _, _ = unix.Wait4(p.PID, nil, unix.WNOHANG, nil) }

// hold takes the lock of a member's folder. The shim inherits it, so that there is no moment without a holder.
func hold(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the member: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("the member has a shim already: %w", err)
	}
	return f, nil
}

// Held reports whether a shim owns the member's folder, be it one that is only starting.
func Held(dir string) bool {
	f, err := hold(dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	f.Close()
	return false
}

// Probe reports whether this machine allows these walls.
func Probe(ctx context.Context, dir string, uid int, lock *os.File, w Walls) error {
	state, err := Launch(ctx, Spec{Dir: dir, Member: "probe", UID: uid, Walls: w, Hostname: "probe", Env: []string{}}, lock)
	if err != nil {
		return err
	}
	h, err := state.Shim.Open()
	if err != nil {
		return nil // it ran, and is gone already
	}
	defer h.Close()
	_ = h.Signal(unix.SIGUSR1)
	err = h.Wait(ctx)
	Bury(state.Shim)
	return err
}
