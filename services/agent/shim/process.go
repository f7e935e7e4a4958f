package shim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process is a process known by its number and its start, so that another one that got the same number is not mistaken
// for it.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // in clock ticks since boot, from /proc/PID/stat
}

// find describes a live process.
func find(pid int) (Process, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	// The name may hold anything, spaces and parentheses too; after its last ")" come plain fields, the state first.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return Process{}, fmt.Errorf("look up process %d: unexpected stat", pid)
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return Process{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	return Process{PID: pid, Start: start}, nil
}

// Alive reports whether it is there still, be it as a zombie.
func (p Process) Alive() bool {
	now, err := find(p.PID)
	return err == nil && now == p
}

// ErrGone means that the process has ended.
var ErrGone = errors.New("the process has ended")

// Handle is a hold on one process that never reaches another one.
type Handle struct{ file *os.File }

// Open takes hold of a process.
func (p Process) Open() (*Handle, error) {
	if p.PID <= 0 {
		return nil, ErrGone
	}
	fd, err := unix.PidfdOpen(p.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("take hold of process %d: %w", p.PID, err)
	}
	h := &Handle{os.NewFile(uintptr(fd), "pidfd")}
	if !p.Alive() { // the number was taken over before we got hold of it
		h.file.Close()
		return nil, ErrGone
	}
	return h, nil
}

// Wait returns once the process has ended or ctx has. It occupies no thread.
func (h *Handle) Wait(ctx context.Context) error {
	raw, err := h.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("wait for process: %w", err)
	}
	release := context.AfterFunc(ctx, func() { h.file.Close() })
	defer release()
	err = raw.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return err == nil && n > 0
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("wait for process: %w", err)
	}
	return nil
}

// Signal sends a signal; ErrGone when there is nobody to get it.
func (h *Handle) Signal(s syscall.Signal) error {
	raw, err := h.file.SyscallConn()
	if err != nil {
		return ErrGone
	}
	var sent error
	if err := raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), s, nil, 0) }); err != nil {
		return ErrGone
	}
	if errors.Is(sent, unix.ESRCH) {
		return ErrGone
	}
	return sent
}

// Close lets go.
func (h *Handle) Close() { h.file.Close() }

// Kill ends a process, if it is still there, and returns once it has ended.
func (p Process) Kill(ctx context.Context) error {
	h, err := p.Open()
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Signal(unix.SIGKILL); err != nil && !errors.Is(err, ErrGone) {
		return fmt.Errorf("kill process %d: %w", p.PID, err)
	}
	return h.Wait(ctx)
}
