package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/e2e/internal/stack"
)

// What cannot start says why in one sentence, exits 1 and leaves nothing behind.
func TestUpRefusesInOneSentence(t *testing.T) {
	t.Parallel()
	bin, err := stack.Binary()
	require.NoError(t, err)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	file := filepath.Join(shortDir(t), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))

	for name, c := range map[string]struct {
		args []string
		say  string
	}{
		"taken port":          {args: []string{"--addr", taken.Addr().String()}, say: taken.Addr().String()},
		"taken agents' port":  {args: []string{"--agent-addr", taken.Addr().String()}, say: taken.Addr().String()},
		"unwritable data dir": {args: []string{"--data-dir", filepath.Join(file, "data")}, say: "--data-dir"},
		"no PostgreSQL":       {args: []string{"--postgres-bin", filepath.Dir(file)}, say: "PostgreSQL"},
		"dead database":       {args: []string{"--database-url", "postgres://weir:x@127.0.0.1:1/weir?sslmode=disable"}, say: "--database-url"},
		"malformed address":   {args: []string{"--addr", "nonsense"}, say: "nonsense"},
		"unknown board":       {args: []string{"--sim-nodes", "1xh100-bogus:8"}, say: "h100-bogus"},
		"remote processes":    {args: []string{"--addr", "0.0.0.0:0"}, say: "loopback"},
		"redis":               {args: []string{"--redis-url", "redis://127.0.0.1:1"}, say: "--redis-url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(shortDir(t), "data")
			args := []string{"up", "--addr", "127.0.0.1:0", "--agent-addr", "127.0.0.1:0", "--data-dir", dir}
			cmd := exec.CommandContext(t.Context(), bin, append(args, c.args...)...)
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s", out)
			said := strings.TrimSpace(string(out))
			require.NotContains(t, said, "\n", "one sentence")
			require.Contains(t, said, c.say)
			left, _ := filepath.Glob(filepath.Join(dir, "*"))
			require.Empty(t, left, "nothing is left behind")
		})
	}
}

// Ctrl-C ends everything that was started, PostgreSQL and tenants' processes included.
func TestStopLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	s := start(t, "--sim-nodes", "1xh100-80gb-sxm5:1")
	c := newTenant(t, s, "ctrlc")
	awaitOffering(t, c, "h100-80gb.1g.10gb")
	id := rent(t, c, "h100-80gb.1g.10gb", "sleep", "5151")
	awaitState(t, c, id, "running", 20e9)
	pg, err := s.PostgresPid()
	require.NoError(t, err)
	child := pidOf(t, "sleep\x005151")
	require.NoError(t, s.Stop())
	for what, pid := range map[string]int{"PostgreSQL": pg, "the tenant's process": child} {
		_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
		require.ErrorIs(t, err, os.ErrNotExist, "%s is still running", what)
	}
	require.NoError(t, s.Start(t.Context()))
	ins := awaitState(t, c, id, "stopped", 10e9)
	require.Equal(t, "platform", ins["state_reason"])
	requireSound(t, s)
}
