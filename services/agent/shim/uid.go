package shim

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrTaken means that a uid belongs to another live member, of this agent or of another one on this machine.
var ErrTaken = errors.New("the uid is taken")

// LockUID makes a uid one member's on this whole machine, for as long as the file is open anywhere: the name of an abstract
// socket, which goes with its last holder.
func LockUID(uid int) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("lock uid %d: %w", uid, err)
	}
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: "@weir-uid-" + strconv.Itoa(uid)})
	if err != nil {
		unix.Close(fd)
		if errors.Is(err, unix.EADDRINUSE) {
			return nil, ErrTaken
		}
		return nil, fmt.Errorf("lock uid %d: %w", uid, err)
	}
	return os.NewFile(uintptr(fd), "uid"), nil
}

// OfUID lists the processes that belong to a uid, zombies aside.
func OfUID(uid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err == nil && statusUID(status) == uid && !bytes.Contains(status, []byte("\nState:\tZ")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func statusUID(status []byte) int {
	_, rest, ok := bytes.Cut(status, []byte("\nUid:"))
	fields := bytes.Fields(rest)
	if !ok || len(fields) == 0 {
		return -1
	}
	uid, err := strconv.Atoi(string(fields[0]))
	if err != nil {
		return -1
	}
	return uid
}

// killUID ends every process of a uid. The caller holds its lock.
func killUID(uid int) {
	for _, pid := range OfUID(uid) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// ClearUID ends what a member that lost its shim left behind, unless the uid is somebody else's by now.
func ClearUID(uid int) {
	lock, err := LockUID(uid)
	if err != nil {
		return
	}
	defer lock.Close()
	killUID(uid)
}
