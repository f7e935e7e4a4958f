package pgserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user that the server runs as; nil means the current one.
type account struct {
	name     string
	uid, gid int
}

// serverAccount picks the account: PostgreSQL refuses to run as root.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.Atoi(u.Uid)
		gid, gerr := strconv.Atoi(u.Gid)
		if uerr == nil && gerr == nil && uid != 0 {
			return &account{name, uid, gid}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody to run it as")
}

// attributes detach the process from ours, as the account.
func (a *account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}

// own gives the file or folder to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}

// reach checks that the account may enter every folder above path.
func (a *account) reach(path string) error {
	if a == nil {
		return nil
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if ok && int(st.Uid) != a.uid && info.Mode()&0o001 == 0 {
			return fmt.Errorf("user %s, as whom PostgreSQL runs, may not enter %s: choose another data directory", a.name, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// privateDir makes (or accepts) a 0700 folder that belongs to the account alone.
func (a *account) privateDir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	uid := os.Geteuid()
	if a != nil {
		uid = a.uid
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || (int(st.Uid) != uid && int(st.Uid) != os.Geteuid()) {
		return fmt.Errorf("%s exists already and belongs to somebody else", path)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return err
	}
	return a.own(path)
}
