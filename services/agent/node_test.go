package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/agentapi"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent/internal/controltest"
	"github.com/weirhq/weir/services/agent/simgpu"
	"github.com/weirhq/weir/services/agent/simnode"
)

// node is a simulated node in this process.
type node struct {
	*simnode.Host
	t     *testing.T
	dir   string
	plane *controltest.Plane
	stop  func() error // ends Run and returns what it returned
	wait  func() error // for a Run that ends by itself
}

type option func(*simnode.Config)

func withClock(c clock.Clock) option { return func(cfg *simnode.Config) { cfg.Clock = c } }

func start(t *testing.T, p *controltest.Plane, dir, boards, runtime string, opts ...option) *node {
	t.Helper()
	groups, err := simgpu.ParseNodes(boards)
	require.NoError(t, err)
	cfg := simnode.Config{Name: "n1", Dir: dir, Runtime: runtime, Server: p.URL, JoinToken: controltest.Token, CAPin: p.Pin,
		Log: slog.New(slog.DiscardHandler), Grace: 200 * time.Millisecond}
	for _, g := range groups {
		cfg.Boards = append(cfg.Boards, g.Cards)
	}
	for _, o := range opts {
		o(&cfg)
	}
	h, err := simnode.New(t.Context(), cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	n := &node{Host: h, t: t, dir: dir, plane: p}
	n.wait = sync.OnceValue(func() error {
		err := <-done
		require.NoError(t, h.Close())
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	})
	n.stop = func() error {
		cancel()
		return n.wait()
	}
	t.Cleanup(func() {
		over, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = h.GoDown(over) // no process is left behind
		_ = n.stop()
	})
	return n
}

func plane(t *testing.T) *controltest.Plane { return controltest.New(t, clock.Real{}.Now) }

// cards waits for the first status and returns the cards' UUIDs.
func cards(t *testing.T, p *controltest.Plane) []string {
	t.Helper()
	p.Eventually(func() bool { return len(p.Statuses()) > 0 }, func() string { return "no status came" })
	var uuids []string
	for _, c := range p.Statuses()[0].Cards {
		uuids = append(uuids, c.UUID)
	}
	return uuids
}

func ptr[T any](v T) *T { return &v }

func member(id, gpu, profile string, start, size int, command ...string) agentapi.DesiredMember {
	return agentapi.DesiredMember{Member: id, Instance: "ins_" + id, Action: agentapi.Run, Command: append([]string{}, command...), Env: map[string]string{}, LogLimitMib: 1,
		Seats: []agentapi.DesiredSeat{{Seat: "sea_" + id, GPUUUID: gpu, Kind: agentapi.SeatKindMIG, Profile: &profile, Start: &start, Size: &size}}}
}

func stopped(m agentapi.DesiredMember, cause agentapi.StopCause) agentapi.DesiredMember {
	m.Action, m.Cause = agentapi.Stop, &cause
	return m
}

// child is a node in a process of its own.
func child(t *testing.T, p *controltest.Plane, dir, boards, runtime string, dieAt int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "WEIR_TEST_NODE="+dir, "WEIR_TEST_BOARDS="+boards, "WEIR_TEST_RUNTIME="+runtime, "WEIR_TEST_SERVER="+p.URL,
		"WEIR_TEST_TOKEN="+controltest.Token, "WEIR_TEST_PIN="+p.Pin, "WEIR_TEST_CRASH_AT="+strconv.Itoa(dieAt))
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}
