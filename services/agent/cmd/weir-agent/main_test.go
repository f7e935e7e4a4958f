package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/agentapi"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent/internal/controltest"
	"github.com/weirhq/weir/services/agent/shim"
)

func TestMain(m *testing.M) {
	shim.MaybeRun()
	os.Exit(m.Run())
}

func execute(ctx context.Context, args ...string) (string, error) {
	cmd := root()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	return out.String(), err
}

func TestJoinThenRun(t *testing.T) {
	t.Parallel()
	p := controltest.New(t, clock.Real{}.Now)
	dir := t.TempDir()
	out, err := execute(t.Context(), "join", "--server", p.URL, "--token", controltest.Token, "--ca-pin", p.Pin, "--node-name", "edge-1", "--state-dir", dir)
	require.NoError(t, err)
	require.Contains(t, out, "joined as nod_edge-1")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	admin := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := execute(ctx, "run", "--state-dir", dir, "--driver", "sim", "--sim-board", "a100-40gb:2", "--runtime", "null", "--node-name", "edge-1", "--admin-addr", admin)
		done <- err
	}()
	p.Eventually(func() bool { return len(p.Statuses()) > 0 }, func() string { return "no status" })
	card := p.Statuses()[0].Cards[1]
	profile, start, size := "2g.10gb", 2, 2
	p.Want(agentapi.DesiredMember{Member: "m1", Instance: "i1", Action: agentapi.Run, Command: []string{}, Env: map[string]string{}, LogLimitMib: 1,
		Seats: []agentapi.DesiredSeat{{Seat: "s1", GPUUUID: card.UUID, Kind: agentapi.SeatKindMIG, Profile: &profile, Start: &start, Size: &size}}})
	p.Await("m1", agentapi.Running)
	get := func(path string) (int, string) {
		resp, err := http.Get("http://" + admin + path)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(body)
	}
	p.Eventually(func() bool { code, _ := get("/readyz"); return code == 200 }, func() string { return "not ready" })
	_, metrics := get("/metrics")
	require.Contains(t, metrics, fmt.Sprintf("weir_agent_members{state=%q} 1", "running"))
	cancel()
	require.NoError(t, <-done, "told to stop, it stops in peace")
	require.Equal(t, agentapi.Running, p.Observed("m1").State, "and what runs stays")
}

func TestWhatIsMissingIsSaidInOneSentence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says string
		args []string
	}{
		{"not built in this version", []string{"run"}},
		{"must be nvml or sim", []string{"run", "--driver", "cuda"}},
		{"--sim-board says which cards", []string{"run", "--driver", "sim", "--state-dir", t.TempDir()}},
		{"unknown board", []string{"run", "--driver", "sim", "--sim-board", "h101:8"}},
		{"has not joined", []string{"run", "--driver", "sim", "--sim-board", "t4-16gb:1", "--state-dir", t.TempDir()}},
		{"required flag", []string{"join"}},
		{"hexadecimal", []string{"join", "--server", "https://127.0.0.1:1", "--token", "x", "--ca-pin", "sha256:0", "--node-name", "n", "--state-dir", t.TempDir()}},
	} {
		_, err := execute(t.Context(), c.args...)
		require.ErrorContains(t, err, c.says)
	}
}
