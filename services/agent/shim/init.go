package shim

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// initMain is the first process of a sandbox: it starts the command, hands it signals, buries orphans and says how it ended.
func initMain() int {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // the command has the same uid and must not look into us
	closeFrom(statusFD)
	s, err := readSpec()
	if err != nil {
		tell(message{Error: err.Error()})
		return 1
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2)
	if len(s.Command) == 0 {
		tell(message{Started: true})
		<-signals
		tell(message{Exit: &Exit{}})
		return 0
	}
	pid, err := command(s)
	if err != nil {
		tell(message{Error: err.Error()})
		return 1
	}
	tell(message{Started: true})
	go func() {
		for sig := range signals {
			if n, ok := sig.(syscall.Signal); ok {
				_ = unix.Kill(pid, n) // only the command itself, as in any container
			}
		}
	}()
	exit := bury(pid)
	if os.Getpid() != 1 {
		killRest()
	}
	tell(message{Exit: &exit})
	return exit.Code
}

// command starts the tenant's command as leader of its own session.
func command(s Spec) (int, error) {
	path, err := look(s.Command[0], s.Env)
	if err != nil {
		return 0, err
	}
	dir := "/tmp"
	if !s.Walls.Namespaces {
		dir = "/"
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, fmt.Errorf("start the command: %w", err)
	}
	defer null.Close()
	pid, err := syscall.ForkExec(path, s.Command, &syscall.ProcAttr{
		Dir: dir, Env: s.Env, Files: []uintptr{null.Fd(), 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("could not start %q: %w", s.Command[0], err)
	}
	return pid, nil
}

// look finds a program by the command's own PATH, inside the sandbox.
func look(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			continue
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("could not start %q: no such program", name)
}

// bury waits for every child and returns how the command itself ended.
func bury(command int) Exit {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return Exit{Code: 255}
		case pid == command && ws.Signaled():
			return Exit{Code: 128 + int(ws.Signal()), Signal: int(ws.Signal())}
		case pid == command && ws.Exited():
			return Exit{Code: ws.ExitStatus()}
		}
	}
}

// killRest ends what the command left behind where no process namespace does that.
func killRest() {
	for range 100 {
		children := ownChildren()
		if len(children) == 0 {
			return
		}
		for _, pid := range children {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		var ws unix.WaitStatus
		_, _ = unix.Wait4(-1, &ws, 0, nil)
	}
}

func ownChildren() []int {
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil
	}
	var pids []int
	for _, t := range tasks {
		data, err := os.ReadFile(t)
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
