// Package stack runs the built `weir up` for end-to-end tests: on free ports, in its own
// data directory, to be interrupted, killed and started again.
package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/weirhq/weir/e2e/internal/rest"
)

// The passwords every stack starts with.
const (
	AdminEmail    = "admin@weir.local"
	AdminPassword = "admin-password-e2e"
	DemoEmail     = "demo@weir.local"
	DemoPassword  = "demo-password-e2e"
)

// Options say what to run. Binary is required.
type Options struct {
	Binary string
	Dir    string   // data directory; must exist and be short enough for a socket's path
	Args   []string // further flags of `weir up`
	Env    []string
}

// Stack is one deployment, running or not.
type Stack struct {
	Options
	URL      string
	AgentURL string

	cmd  *exec.Cmd
	out  *buffer
	done chan error
}

// Binary finds the built product: $WEIR_BIN, or bin/weir of the checkout.
func Binary() (string, error) {
	p := os.Getenv("WEIR_BIN")
	if p == "" {
		wd, err := os.Getwd()
		if err != nil {
			return "", err
		}
		for d := wd; d != "/"; d = filepath.Dir(d) {
			if _, err := os.Stat(filepath.Join(d, "go.work")); err == nil {
				p = filepath.Join(d, "bin", "weir")
				break
			}
		}
	}
	if _, err := os.Stat(p); err != nil {
		return "", fmt.Errorf("the built product is missing (run 'make build'): %w", err)
	}
	return p, nil
}

// New prepares a stack on two free ports.
func New(o Options) (*Stack, error) {
	web, err := freePort()
	if err != nil {
		return nil, err
	}
	agents, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Stack{Options: o, URL: "http://" + web, AgentURL: "https://" + agents}
	s.Args = append([]string{"up", "--addr", web, "--agent-addr", agents, "--data-dir", o.Dir}, o.Args...)
	return s, nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// Start runs the product and returns once /readyz answers 200.
func (s *Stack) Start(ctx context.Context) error {
	s.out = &buffer{}
	s.cmd = exec.Command(s.Binary, s.Args...) // outlives ctx on purpose: Stop and Kill end it
	s.cmd.Env = append(os.Environ(), append([]string{"WEIR_ADMIN_PASSWORD=" + AdminPassword, "WEIR_DEMO_PASSWORD=" + DemoPassword}, s.Env...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.done = make(chan error, 1)
	go func(c *exec.Cmd, done chan<- error) { done <- c.Wait() }(s.cmd, s.done)
	return s.awaitReady(ctx)
}

func (s *Stack) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c := rest.New(s.URL)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if r, err := c.Get(ctx, "/readyz"); err == nil && r.Status == http.StatusOK {
			return nil
		}
		select {
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("weir up ended before it was ready: %w\n%s", err, s.Output())
		case <-ctx.Done():
			return fmt.Errorf("weir up was not ready in time: %w\n%s", ctx.Err(), s.Output())
		case <-tick.C:
		}
	}
}

// Pid is the process id of `weir up`.
func (s *Stack) Pid() int { return s.cmd.Process.Pid }

// Output is everything the product printed since it was started.
func (s *Stack) Output() string { return s.out.String() }

// Kill ends the process with -9 and waits until it is gone.
func (s *Stack) Kill() error { return s.end(syscall.SIGKILL, 10*time.Second) }

// Stop ends the process the way a person does, with Ctrl-C; it fails if that takes too long.
func (s *Stack) Stop() error { return s.end(syscall.SIGINT, 30*time.Second) }

func (s *Stack) end(sig syscall.Signal, limit time.Duration) error {
	if s.cmd == nil {
		return nil
	}
	defer func() { s.cmd = nil }()
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-s.done:
		if sig == syscall.SIGKILL {
			return nil
		}
		if err != nil {
			return fmt.Errorf("weir up ended with %w\n%s", err, s.Output())
		}
		return nil
	case <-time.After(limit):
		_ = s.cmd.Process.Kill()
		return fmt.Errorf("weir up did not end within %s of signal %d\n%s", limit, sig, s.Output())
	}
}

// PostgresPid reads the private server's pid from its data directory.
func (s *Stack) PostgresPid() (int, error) {
	b, err := os.ReadFile(filepath.Join(s.Dir, "postgres", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := bytes.Cut(b, []byte("\n"))
	return strconv.Atoi(string(first))
}

// Admin returns the REST client of the operator, Demo that of the demo tenant's owner.
func (s *Stack) Admin(ctx context.Context) (*rest.Client, error) {
	return rest.New(s.URL).Login(ctx, AdminEmail, AdminPassword)
}

// Demo returns the REST client of the demo tenant's owner.
func (s *Stack) Demo(ctx context.Context) (*rest.Client, error) {
	return rest.New(s.URL).Login(ctx, DemoEmail, DemoPassword)
}

// buffer is a bytes.Buffer that a running process and a test may share.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
