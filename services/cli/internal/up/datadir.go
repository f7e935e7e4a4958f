package up

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// dataDir is the locked data directory: one `weir up` at a time.
type dataDir struct {
	path string
	lock *os.File
}

// openDataDir makes the directory where it is missing and takes its lock.
func openDataDir(path string) (*dataDir, error) {
	// PostgreSQL runs as another user below it when we are root: it may pass through the top,
	// everything in it is private.
	for _, p := range []string{path, filepath.Join(path, "secrets")} {
		mode := os.FileMode(0o700)
		if p == path {
			mode = 0o711
		}
		if err := os.MkdirAll(p, mode); err != nil {
			return nil, fmt.Errorf("--data-dir %s cannot be written: %w", path, rootCause(err))
		}
	}
	f, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--data-dir %s cannot be written: %w", path, rootCause(err))
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("--data-dir %s is in use by another weir up", path)
		}
		return nil, fmt.Errorf("--data-dir %s cannot be locked: %w", path, err)
	}
	return &dataDir{path: path, lock: f}, nil
}

func (d *dataDir) Close() error { return d.lock.Close() }

func (d *dataDir) join(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

func (d *dataDir) secrets() string { return d.join("secrets") }

// secret returns the named secret, made on first use. It survives a crash at any point:
// the file appears whole or not at all.
func (d *dataDir) secret(name string) (string, error) {
	path := d.join("secrets", name)
	b, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(b)), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the secret %s: %w", name, err)
	}
	var raw [24]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return "", fmt.Errorf("make the secret %s: %w", name, err)
	}
	s := base64.RawURLEncoding.EncodeToString(raw[:])
	return s, d.write(filepath.Join("secrets", name), s+"\n")
}

// write puts a small private file in place: written aside, synced, renamed.
func (d *dataDir) write(name, content string) error {
	path := d.join(name)
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
