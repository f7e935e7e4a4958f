package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
)

// server is the part of a deployment that knows tokens: a refresh token works once.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	n       int
	access  string
	refresh string
	renewed int
	reused  bool
}

func newServer(t *testing.T) *server {
	s := &server{}
	s.rotate()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+s.access {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) rotate() {
	s.n++
	s.access, s.refresh = fmt.Sprintf("access-%d", s.n), fmt.Sprintf("refresh-%d", s.n)
}

func (s *server) renew(_ context.Context, token string) (Tokens, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token != s.refresh {
		s.reused = true
		return Tokens{}, fault.New(fault.Unauthenticated, "used before")
	}
	s.rotate()
	s.renewed++
	return Tokens{s.access, s.refresh, 10 * time.Minute}, nil
}

func setup(t *testing.T) (*server, *Store, *clock.Fake) {
	t.Helper()
	s := newServer(t)
	clk := clock.NewFake(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))
	store := &Store{Dir: filepath.Join(t.TempDir(), "weir"), Clock: clk}
	require.NoError(t, store.Put(t.Context(), s.URL, Session{Email: "a@b.c", AccessToken: s.access, RefreshToken: s.refresh, ExpiresAt: clk.Now().Add(10 * time.Minute)}))
	return s, store, clk
}

func (s *server) post(t require.TestingT, store *Store, token string) (int, string) {
	c := &http.Client{Transport: &Transport{Next: http.DefaultTransport, Store: store, URL: s.URL, Token: token, Renew: s.renew}}
	r, err := http.NewRequest(http.MethodPost, s.URL, strings.NewReader("hello")) //nolint:noctx // a test
	require.NoError(t, err)
	resp, err := c.Do(r)
	if err != nil {
		require.ErrorIs(t, err, fault.Unauthenticated)
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

func TestSavedLoginIsPrivate(t *testing.T) {
	t.Parallel()
	s, store, _ := setup(t)
	for path, mode := range map[string]os.FileMode{store.Dir: 0o700 | os.ModeDir, store.file(): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), path)
	}
	current, err := store.Current()
	require.NoError(t, err)
	require.Equal(t, s.URL, current)
}

func TestTokensStayWithTheirDeployment(t *testing.T) {
	t.Parallel()
	s, store, _ := setup(t)
	other := newServer(t)
	code, _ := other.post(t, store, "")
	require.Equal(t, http.StatusUnauthorized, code, "a token of another deployment is not sent")
	code, body := s.post(t, store, "")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "hello", body)
	require.NoError(t, store.Remove(t.Context(), s.URL))
	_, err := store.Get(s.URL)
	require.ErrorIs(t, err, ErrNone)
}

func TestRenewsInTime(t *testing.T) {
	t.Parallel()
	s, store, clk := setup(t)
	clk.Advance(10*time.Minute - early)
	code, _ := s.post(t, store, "")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, 1, s.renewed)
	code, _ = s.post(t, store, "")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, 1, s.renewed)
}

func TestRenewsARefusedTokenOnceAndSendsTheBodyAgain(t *testing.T) {
	t.Parallel()
	s, store, _ := setup(t)
	s.access = "ended by the server"
	code, body := s.post(t, store, "")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "hello", body)
	require.Equal(t, 1, s.renewed)
}

func TestAnEndedSessionIsForgotten(t *testing.T) {
	t.Parallel()
	s, store, clk := setup(t)
	s.refresh = "ended by the server"
	clk.Advance(time.Hour)
	_, text := s.post(t, store, "")
	require.Contains(t, text, "Your session has ended.")
	_, err := store.Get(s.URL)
	require.ErrorIs(t, err, ErrNone)
}

func TestAnOutageKeepsTheSession(t *testing.T) {
	t.Parallel()
	s, store, clk := setup(t)
	clk.Advance(time.Hour)
	down := errors.New("connection refused")
	_, err := store.Fresh(t.Context(), s.URL, "", func(context.Context, string) (Tokens, error) { return Tokens{}, down })
	require.ErrorIs(t, err, down)
	code, _ := s.post(t, store, "")
	require.Equal(t, http.StatusOK, code)
}

// Many processes find the token expired at once: one renews, none ends the session.
func TestConcurrentRenewalHappensOnce(t *testing.T) {
	t.Parallel()
	s, store, clk := setup(t)
	real := &Store{Dir: store.Dir, Clock: clock.Real{}} // waiting for the lock takes real time
	clk.Set(time.Time{})
	require.NoError(t, store.Put(t.Context(), s.URL, Session{AccessToken: "old", RefreshToken: s.refresh, ExpiresAt: clk.Now()}))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if code, text := s.post(t, real, ""); code != http.StatusOK {
				t.Errorf("%d %s", code, text)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, s.renewed)
	require.False(t, s.reused)
}

func TestAGivenTokenNeedsNoLogin(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	code, _ := s.post(t, &Store{Clock: clock.Real{}}, s.access)
	require.Equal(t, http.StatusOK, code)
	code, _ = s.post(t, &Store{Clock: clock.Real{}}, "wrong")
	require.Equal(t, http.StatusUnauthorized, code)
	require.Error(t, (&Store{Clock: clock.Real{}}).Put(t.Context(), s.URL, Session{}), "nowhere to save")
}

func TestABrokenFileIsSaid(t *testing.T) {
	t.Parallel()
	_, store, _ := setup(t)
	require.NoError(t, os.WriteFile(store.file(), []byte("{"), 0o600))
	_, err := store.Current()
	require.ErrorContains(t, err, store.file())
}
