package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weirhq/weir/services/agent/internal/boottime"
)

const (
	readyFD  = 3 // the shim's answer to the agent; 4 and 5 are the locks of member and uid, held by being open
	statusFD = 3 // setup and init to the shim
	specFD   = 4 // the spec, in memory only

	beatEvery = 5 * time.Second
	drainFor  = time.Second
)

// supervise is the shim's life: start the command, keep its log, write down its end.
func supervise() int {
	runtime.LockOSThread() // the death signal of the child is tied to the thread that starts it
	signal.Ignore(unix.SIGPIPE, unix.SIGHUP, unix.SIGINT)
	answer := os.NewFile(readyFD, "ready")
	closeFrom(readyFD)
	var s Spec
	if err := json.NewDecoder(os.Stdin).Decode(&s); err != nil {
		return 1 // the agent died before it said what to run
	}
	os.Stdin.Close()
	c, err := launch(s)
	if err != nil {
		_ = json.NewEncoder(answer).Encode(ready{Error: err.Error()})
		return 1
	}
	_ = json.NewEncoder(answer).Encode(ready{State: &c.state})
	answer.Close()
	if err := writeJSON(filepath.Join(s.Dir, exitFile), c.wait()); err != nil {
		fmt.Fprintln(os.Stderr, err) // it will count as vanished
		return 1
	}
	return 0
}

// closeFrom keeps files from this number up out of whatever is started: ours, and those a careless parent left open.
func closeFrom(fd int) {
	_ = unix.CloseRange(uint(fd), ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
}

// child is the sandboxed command as the shim sees it.
type child struct {
	spec   Spec
	cmd    *exec.Cmd
	status *json.Decoder
	state  State
	log    *logWriter
	output *os.File
	pumped chan struct{}
	kills  chan os.Signal
	ending atomic.Bool
}

func launch(s Spec) (*child, error) {
	c := &child{spec: s, log: newLog(s.Dir, s.LogLimit), pumped: make(chan struct{}), kills: make(chan os.Signal, 8)}
	signal.Notify(c.kills, unix.SIGTERM, unix.SIGUSR1)
	if err := c.start(); err != nil {
		return nil, err
	}
	if err := c.started(); err != nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		return nil, err
	}
	go c.relay()
	go c.beat()
	return c, nil
}

func (c *child) start() error {
	spec, err := inMemory(c.spec)
	if err != nil {
		return err
	}
	defer spec.Close()
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the sandbox: %w", err)
	}
	defer statusW.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the sandbox: %w", err)
	}
	defer outW.Close()
	c.output, c.status = outR, json.NewDecoder(statusR)
	c.cmd = &exec.Cmd{Path: self, Args: []string{"weir-sandbox", argSetup}, Env: []string{}, Dir: "/",
		Stdout: outW, Stderr: outW, ExtraFiles: []*os.File{statusW, spec}, SysProcAttr: c.spec.attributes()}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start the sandbox: %w", err)
	}
	go func() {
		defer close(c.pumped)
		_, _ = io.Copy(onlyWriter{c.log}, outR)
	}()
	return nil
}

// onlyWriter keeps io.Copy from handing the pipe to the file directly, past the limit.
type onlyWriter struct{ io.Writer }

// inMemory hands a spec on without a file: it holds the tenant's secrets.
func inMemory(s Spec) (*os.File, error) {
	fd, err := unix.MemfdCreate("spec", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("hand on the spec: %w", err)
	}
	f := os.NewFile(uintptr(fd), "spec")
	if err := json.NewEncoder(f).Encode(s); err != nil {
		f.Close()
		return nil, fmt.Errorf("hand on the spec: %w", err)
	}
	return f, nil
}

// message is what setup and init tell the shim.
type message struct {
	Started bool   `json:"started,omitempty"`
	Error   string `json:"error,omitempty"`
	Exit    *Exit  `json:"exit,omitempty"`
}

// started waits until the command runs and writes down who it is.
func (c *child) started() error {
	var m message
	if err := c.status.Decode(&m); err != nil {
		return errors.New("the sandbox could not be built on this machine")
	}
	if !m.Started {
		return errors.New(m.Error)
	}
	shim, err := find(os.Getpid())
	if err != nil {
		return err
	}
	first, err := find(c.cmd.Process.Pid)
	if err != nil {
		return err
	}
	c.state = State{Member: c.spec.Member, Boot: c.spec.Boot, HostBoot: boottime.HostBoot(), UID: c.spec.UID, OwnUID: c.spec.Walls.OwnUID,
		Shim: shim, Init: first, RunningAt: boottime.Now()}
	return writeJSON(filepath.Join(c.spec.Dir, stateFile), c.state)
}

// relay turns the agent's signals into the command's: TERM asks, USR1 kills.
func (c *child) relay() {
	for s := range c.kills {
		if c.ending.Load() {
			return
		}
		if s == unix.SIGUSR1 {
			_ = c.cmd.Process.Kill()
			continue
		}
		_ = c.cmd.Process.Signal(unix.SIGTERM)
	}
}

// beat proves from time to time that the command was alive.
func (c *child) beat() {
	for !c.ending.Load() {
		_ = os.WriteFile(filepath.Join(c.spec.Dir, beatFile), fmt.Append(nil, int64(boottime.Now())), 0o600)
		time.Sleep(beatEvery)
	}
}

// wait returns how the command ended, after nothing of it is left and its output is written.
func (c *child) wait() Exit {
	told := make(chan message, 1)
	go func() {
		var m message
		_ = c.status.Decode(&m)
		told <- m
	}()
	_ = c.cmd.Wait() // its own status tells less than its last words
	exit := Exit{Code: 128 + int(unix.SIGKILL), Signal: int(unix.SIGKILL), EndedAt: boottime.Now()}
	c.ending.Store(true)
	if c.spec.Walls.OwnUID {
		killUID(c.spec.UID) // without a process namespace some may have outlived their first process
	}
	select {
	case m := <-told:
		if m.Exit != nil {
			exit.Code, exit.Signal = m.Exit.Code, m.Exit.Signal
		}
	case <-time.After(drainFor):
	}
	select {
	case <-c.pumped:
	case <-time.After(drainFor): // somebody holds the pipe still
	}
	c.log.close()
	return exit
}
