package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	maxProcesses = 1024
	maxFiles     = 4096
)

// setup builds the sandbox from inside and becomes init without any privilege.
func setup() int {
	runtime.LockOSThread() // privileges are a thread's; the one that drops them is the one that goes on
	s, err := readSpec()
	if err == nil {
		err = confine(s)
	}
	if err == nil {
		err = syscall.Exec(self, []string{"weir-init", argInit}, []string{})
		err = fmt.Errorf("start the first process (is the program executable by everybody?): %w", err)
	}
	tell(message{Error: "sandbox: " + err.Error()})
	return 1
}

func readSpec() (Spec, error) {
	var s Spec
	f := os.NewFile(uintptr(specFD), "spec")
	kept = append(kept, f)
	err := json.NewDecoder(io.NewSectionReader(f, 0, 1<<30)).Decode(&s)
	if err != nil {
		return s, fmt.Errorf("read the spec: %w", err)
	}
	return s, nil
}

// kept are files whose numbers the next stage uses: collecting one would close it.
var kept []*os.File

func tell(m message) {
	f := os.NewFile(uintptr(statusFD), "status")
	kept = append(kept, f)
	_ = json.NewEncoder(f).Encode(m)
}

func confine(s Spec) error {
	if s.Walls.Namespaces {
		if err := buildRoot(); err != nil {
			return err
		}
		if err := unix.Sethostname([]byte(s.Hostname)); err != nil {
			return fmt.Errorf("set host name: %w", err)
		}
		if err := loopback(); err != nil {
			return err
		}
	}
	if s.Walls.UserNS && s.Walls.Namespaces {
		// No namespaces inside this one: they are the usual way to a kernel's rarely tried corners.
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil && !errors.Is(err, os.ErrPermission) && !errors.Is(err, unix.EROFS) {
			return fmt.Errorf("forbid further namespaces: %w", err)
		}
	}
	for resource, limit := range map[int]uint64{unix.RLIMIT_NPROC: maxProcesses, unix.RLIMIT_NOFILE: maxFiles, unix.RLIMIT_CORE: 0} {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return fmt.Errorf("read limit: %w", err)
		}
		limit = min(limit, now.Max)
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("set limit: %w", err)
		}
	}
	return drop(s)
}

// drop gives away the uid where that is still to do, every capability, and the way to get any back.
func drop(s Spec) error {
	for c := uintptr(0); ; c++ {
		_, _, e := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0)
		if e == unix.EPERM && !s.Walls.OwnUID {
			break // a plain user's process has none to give
		}
		if e == unix.EINVAL {
			break // one past the last capability
		}
		if e != 0 {
			return fmt.Errorf("drop capability %d: %w", c, e)
		}
	}
	if s.Walls.OwnUID && !s.Walls.UserNS {
		id := uintptr(s.UID)
		if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
			return fmt.Errorf("drop groups: %w", e)
		}
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, id, id, id); e != 0 {
			return fmt.Errorf("drop group: %w", e)
		}
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, id, id, id); e != 0 {
			return fmt.Errorf("drop user: %w", e)
		}
	}
	if _, _, e := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0); e != 0 {
		return fmt.Errorf("drop ambient capabilities: %w", e)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if _, _, e := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); e != 0 {
		return fmt.Errorf("drop capabilities: %w", e)
	}
	if _, _, e := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
		return fmt.Errorf("forbid new privileges: %w", e)
	}
	return nil
}
