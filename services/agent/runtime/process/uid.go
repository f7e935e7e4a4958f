package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/weirhq/weir/services/agent/shim"
)

// uid is one that is a member's own. Its lock goes to the shim; its file says which member it belongs to.
type uid struct {
	number int
	own    bool
	lock   *os.File
}

// takeUID finds a uid that no live member has, here or elsewhere on this machine, and records it before use.
func (r *Runtime) takeUID(member string, own bool) (uid, error) {
	if !own {
		return uid{number: os.Geteuid()}, nil
	}
	for n := r.cfg.UIDFirst; n < r.cfg.UIDFirst+r.cfg.UIDCount; n++ {
		if _, err := os.Stat(r.uidPath(n)); err == nil {
			continue
		}
		lock, err := shim.LockUID(n)
		if errors.Is(err, shim.ErrTaken) {
			continue
		}
		if err != nil {
			return uid{}, err
		}
		if len(shim.OfUID(n)) > 0 { // a stranger's, or a member's that is just dying
			lock.Close()
			continue
		}
		switch err := record(r.uidPath(n), member); {
		case errors.Is(err, fs.ErrExist):
			lock.Close()
		case err != nil:
			lock.Close()
			return uid{}, err
		default:
			return uid{n, true, lock}, nil
		}
	}
	return uid{}, fmt.Errorf("no uid is free in %d to %d", r.cfg.UIDFirst, r.cfg.UIDFirst+r.cfg.UIDCount-1)
}

func record(path, member string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("take a uid: %w", err)
	}
	_, err = f.WriteString(member)
	f.Close()
	if err != nil {
		os.Remove(path)
		return fmt.Errorf("take a uid: %w", err)
	}
	return nil
}

// handedOver closes our copy of the lock: the shim has its own.
func (u uid) handedOver() {
	if u.lock != nil {
		u.lock.Close()
	}
}

func (r *Runtime) uidPath(uid int) string {
	return filepath.Join(r.cfg.Dir, "uids", strconv.Itoa(uid))
}

// freeUID gives a uid back, once nothing runs under it.
func (r *Runtime) freeUID(uid int, own bool) {
	if own {
		os.Remove(r.uidPath(uid))
	}
}

// sweepUIDs frees what members that are gone had taken.
func (r *Runtime) sweepUIDs() error {
	entries, err := os.ReadDir(filepath.Join(r.cfg.Dir, "uids"))
	if err != nil {
		return fmt.Errorf("read uids: %w", err)
	}
	for _, e := range entries {
		uid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		member, err := os.ReadFile(r.uidPath(uid))
		if err != nil {
			return fmt.Errorf("read uid: %w", err)
		}
		r.mu.Lock()
		m := r.members[string(member)]
		r.mu.Unlock()
		if m == nil || m.state.UID != uid {
			shim.ClearUID(uid)
			r.freeUID(uid, true)
		}
	}
	return nil
}
