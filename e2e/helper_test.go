package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/e2e/internal/audit"
	"github.com/weirhq/weir/e2e/internal/rest"
	"github.com/weirhq/weir/e2e/internal/stack"
)

// start runs a product of its own for one test and stops it at the end; a stop that is
// not clean fails the test.
func start(t *testing.T, args ...string) *stack.Stack {
	t.Helper()
	s := prepare(t, args...)
	require.NoError(t, s.Start(t.Context()))
	return s
}

// prepare is start without starting.
func prepare(t *testing.T, args ...string) *stack.Stack {
	t.Helper()
	bin, err := stack.Binary()
	require.NoError(t, err)
	s, err := stack.New(stack.Options{Binary: bin, Dir: filepath.Join(shortDir(t), "data"), Args: args})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Output())
		}
	})
	return s
}

// shortDir is a temporary directory that a socket's path fits below and that another
// user (PostgreSQL's) may pass through.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "weir-e2e-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// cli runs the weir command as the person whose configuration lives in home.
type cli struct {
	t    *testing.T
	s    *stack.Stack
	home string
}

func newCLI(t *testing.T, s *stack.Stack) *cli { return &cli{t, s, t.TempDir()} }

type output struct {
	out, err string
	code     int
}

func (c *cli) run(stdin string, args ...string) output {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.s.Binary, args...)
	cmd.Env = []string{"HOME=" + c.home, "XDG_CONFIG_HOME=" + filepath.Join(c.home, ".config"), "PATH=" + os.Getenv("PATH"), "WEIR_URL=" + c.s.URL}
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewBufferString(stdin), &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatalf("weir %v: %v\n%s", args, err, errOut.String())
	}
	return output{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

// ok runs a command that must succeed and returns its standard output.
func (c *cli) ok(args ...string) string {
	c.t.Helper()
	r := c.run("", args...)
	require.Zero(c.t, r.code, "weir %v\n%s%s", args, r.out, r.err)
	return r.out
}

// offerings waits until the wanted offering is for rent.
func awaitOffering(t *testing.T, c *rest.Client, id string) map[string]any {
	t.Helper()
	var found map[string]any
	require.Eventually(t, func() bool {
		items, err := c.All(t.Context(), "/v1/offerings")
		for _, o := range items {
			if n, _ := o["available"].(float64); o["id"] == id && n > 0 {
				found = o
			}
		}
		return err == nil && found != nil
	}, 20*time.Second, 50*time.Millisecond, "no %s for rent", id)
	return found
}

// awaitState waits until the instance is in the wanted state and returns it.
func awaitState(t *testing.T, c *rest.Client, id, state string, within time.Duration) map[string]any {
	t.Helper()
	var last map[string]any
	require.Eventually(t, func() bool {
		r, err := c.Get(t.Context(), "/v1/instances/"+id)
		if err != nil || r.Status != http.StatusOK {
			return false
		}
		last = r.JSON
		return last["state"] == state
	}, within, 50*time.Millisecond, "instance %s never came to %s", id, state)
	return last
}

// rent creates an instance that must be accepted and returns its id.
func rent(t *testing.T, c *rest.Client, offering string, command ...string) string {
	t.Helper()
	r, err := c.Post(t.Context(), "/v1/instances", map[string]any{"name": "e2e", "offering": offering, "command": command})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, r.Status, "%s", r.Raw)
	return r.Str("id")
}

// requireSound runs every audit: the engine's Check, the database's invariants, usage.
func requireSound(t *testing.T, s *stack.Stack) {
	t.Helper()
	admin, err := s.Admin(t.Context())
	require.NoError(t, err)
	db, err := audit.Open(t.Context(), s.Dir)
	require.NoError(t, err)
	defer db.Close(context.WithoutCancel(t.Context()))
	var found []string
	ok := assertEventually(20*time.Second, func() bool {
		check, err := audit.Check(t.Context(), admin)
		if err != nil {
			found = []string{err.Error()}
			return false
		}
		sql, err := db.Violations(t.Context())
		if err != nil {
			found = []string{err.Error()}
			return false
		}
		found = append(check, sql...)
		return len(found) == 0
	})
	require.True(t, ok, "the house is not in order:\n%s", fmt.Sprint(found))
}

func assertEventually(within time.Duration, ok func() bool) bool {
	deadline := time.Now().Add(within)
	for {
		if ok() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(100 * time.Millisecond)
	}
}
