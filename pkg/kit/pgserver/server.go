package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Server is a running PostgreSQL.
type Server struct {
	dir, socket string
	pid         int
	gone        chan struct{} // closed when our child ended; nil when adopted
}

// Adopt returns the server that runs on the data directory, once it is ready, or nil when
// none does.
func Adopt(ctx context.Context, dir string) (*Server, error) {
	pf, err := readPIDFile(dir)
	if err != nil || pf == nil || !runsIn(pf.pid, dir) {
		return nil, err
	}
	s := &Server{dir: dir, socket: pf.socket, pid: pf.pid}
	if err := s.awaitReady(ctx); err != nil {
		if !s.alive() {
			return nil, nil // it was on its way down
		}
		return nil, err
	}
	return s, nil
}

// PID is the server's process.
func (s *Server) PID() int { return s.pid }

// Adopted reports whether the server was found running.
func (s *Server) Adopted() bool { return s.gone == nil }

// Gone is closed when the server ended; nil for an adopted one.
func (s *Server) Gone() <-chan struct{} { return s.gone }

// DSN is the address of a database for the administrator.
func (s *Server) DSN(database, password string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(Superuser, password), Path: "/" + database,
		RawQuery: url.Values{"host": {s.socket}, "port": {"5432"}, "sslmode": {"disable"}}.Encode()}
	return u.String()
}

// StopMode says how to stop.
type StopMode syscall.Signal

// The ways to stop.
const (
	Fast      = StopMode(syscall.SIGINT)  // end sessions, checkpoint
	Immediate = StopMode(syscall.SIGQUIT) // as if the power failed; the next start recovers
)

// Stop stops the server and waits until it is gone. One that is gone already is fine.
func (s *Server) Stop(ctx context.Context, mode StopMode) error {
	if err := syscall.Kill(s.pid, syscall.Signal(mode)); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	if err := poll(ctx, func() (bool, error) { return !s.alive(), nil }); err != nil {
		return fmt.Errorf("wait for PostgreSQL to stop: %w", err)
	}
	if s.socket != s.dir {
		_ = os.Remove(s.socket) // an empty folder by now, unless the next server is there already
	}
	return nil
}

func (s *Server) alive() bool {
	if s.gone != nil {
		select {
		case <-s.gone:
			return false
		default:
			return true
		}
	}
	return runsIn(s.pid, s.dir)
}

// awaitReady waits until the server says in its pid file that it takes connections.
func (s *Server) awaitReady(ctx context.Context) error {
	err := poll(ctx, func() (bool, error) {
		if !s.alive() {
			words := s.lastWords()
			if strings.Contains(words, `"postmaster.pid" already exists`) || strings.Contains(words, "pre-existing shared memory") {
				return false, errBusy
			}
			return false, fmt.Errorf("PostgreSQL ended: %s", words)
		}
		pf, err := readPIDFile(s.dir)
		return pf != nil && pf.pid == s.pid && pf.ready, err
	})
	if err != nil {
		return fmt.Errorf("wait for PostgreSQL in %s: %w", s.dir, err)
	}
	return nil
}

// lastWords is the last complaint in the server's log.
func (s *Server) lastWords() string {
	b, err := os.ReadFile(logPath(s.dir))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i], "FATAL") || strings.Contains(lines[i], "PANIC") {
			return lines[i]
		}
	}
	return lines[len(lines)-1]
}

// poll asks until the answer is yes, an error, or ctx ends.
func poll(ctx context.Context, ok func() (bool, error)) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := ok(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

type pidFile struct {
	pid    int
	socket string
	ready  bool
}

// readPIDFile reads postmaster.pid; nil when there is none (or it is being written).
func readPIDFile(dir string) (*pidFile, error) {
	b, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read postmaster.pid: %w", err)
	}
	// pid, data directory, start time, port, socket directory, listen address, shared memory, status
	lines := strings.Split(string(b), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return nil, nil
	}
	pf := &pidFile{pid: pid}
	if len(lines) > 4 {
		pf.socket = strings.TrimSpace(lines[4])
	}
	pf.ready = len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready"
	return pf, nil
}

// runsIn reports whether the process is alive and works in the data directory, as every
// process of that server does: a reused process id is not mistaken for it.
func runsIn(pid int, dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if errors.Is(err, fs.ErrPermission) { // root without the right to look into others' processes
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err == nil && strings.Contains(string(args), "-D\x00"+dir+"\x00")
	}
	return err == nil && cwd == real
}

// removeStalePID removes the pid file of a server that died with its machine when another
// process has its number now; PostgreSQL would take that one for its own and refuse to
// start. All other stale files it handles itself.
func removeStalePID(dir string) error {
	pf, err := readPIDFile(dir)
	if err != nil || pf == nil || errors.Is(syscall.Kill(pf.pid, 0), syscall.ESRCH) {
		return err
	}
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, p := range procs {
		if pid, err := strconv.Atoi(filepath.Base(p)); err == nil && runsIn(pid, dir) {
			return fmt.Errorf("%w: process %d still works in %s", errBusy, pid, dir)
		}
	}
	if err := os.Remove(filepath.Join(dir, "postmaster.pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a stale postmaster.pid: %w", err)
	}
	return nil
}
