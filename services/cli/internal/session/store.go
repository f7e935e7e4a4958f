package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
)

// Session is a login to one deployment.
type Session struct {
	Email        string    `json:"email"`
	Org          string    `json:"org,omitempty"`
	AccessToken  string    `json:"access_token"`
	RefreshToken string    `json:"refresh_token"`
	ExpiresAt    time.Time `json:"expires_at"`
}

// Store keeps sessions in a folder.
type Store struct {
	Dir   string // "" = there is none
	Clock clock.Clock
}

// content is the file: a session for each deployment's URL, and the URL used last.
type content struct {
	Current  string             `json:"current"`
	Sessions map[string]Session `json:"sessions"`
}

// ErrNone says that there is no session for a URL.
var ErrNone = errors.New("not logged in")

// Current is the URL of the last login, or "".
func (s *Store) Current() (string, error) {
	c, err := s.read()
	return c.Current, err
}

// Get is the session of a deployment, or ErrNone.
func (s *Store) Get(url string) (Session, error) {
	c, err := s.read()
	if err != nil {
		return Session{}, err
	}
	found, ok := c.Sessions[url]
	if !ok {
		return Session{}, ErrNone
	}
	return found, nil
}

// Put keeps a session and makes its deployment the current one.
func (s *Store) Put(ctx context.Context, url string, n Session) error {
	return s.locked(ctx, func() error {
		return s.change(func(c *content) { c.Current, c.Sessions[url] = url, n })
	})
}

// Remove forgets the session of a deployment, but not that it was the last one used.
func (s *Store) Remove(ctx context.Context, url string) error {
	return s.locked(ctx, func() error { return s.forget(url) })
}

func (s *Store) forget(url string) error {
	return s.change(func(c *content) { delete(c.Sessions, url) })
}

func (s *Store) file() string { return filepath.Join(s.Dir, "sessions.json") }

func (s *Store) read() (content, error) {
	c := content{Sessions: map[string]Session{}}
	if s.Dir == "" {
		return c, nil
	}
	b, err := os.ReadFile(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read the saved login %s: %w", s.file(), err)
	}
	if c.Sessions == nil {
		c.Sessions = map[string]Session{}
	}
	return c, nil
}

// change rewrites the file, whole or not at all. The caller holds the lock.
func (s *Store) change(fn func(*content)) error {
	c, err := s.read()
	if err != nil {
		return err
	}
	fn(&c)
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("save the login: %w", err)
	}
	f, err := os.CreateTemp(s.Dir, ".sessions-*") // 0600 by itself
	if err != nil {
		return fmt.Errorf("save the login: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), s.file())
	}
	if err != nil {
		return fmt.Errorf("save the login: %w", err)
	}
	return nil
}

// lockPatience is how long another process may take to renew.
const lockPatience = time.Minute

// locked runs fn while no other weir process changes the file.
func (s *Store) locked(ctx context.Context, fn func() error) error {
	if s.Dir == "" {
		return errors.New("there is no folder to save a login in: set HOME, or use WEIR_TOKEN")
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder for the login: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(s.Dir, "sessions.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the saved login: %w", err)
	}
	defer f.Close() // which also unlocks
	deadline := s.Clock.Now().Add(lockPatience)
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return fn()
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("lock the saved login: %w", err)
		}
		if s.Clock.Now().After(deadline) {
			return errors.New("another weir process keeps the saved login locked")
		}
		if err := clock.Sleep(ctx, s.Clock, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
