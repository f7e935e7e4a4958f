package inventory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/services/inventory"
)

// The loop runs in the module; when exactly silence counts is tested at the use case.
func TestASilentNodeIsNotReadyUntilItSpeaks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.enroll("quiet").Node
	b.report(id, status("q", 1))
	b.untilNotReady(id)
	require.Equal(t, "silent", b.node(id)["state_reason"])
	require.Equal(t, "not_ready", b.last(id, 3).State)
	require.Greater(t, b.clk.Now().Sub(start), 40*time.Second)

	b.report(id, status("q", 2))
	require.Equal(t, "ready", b.last(id, 4).State)
	require.Nil(t, b.node(id)["state_reason"])
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []inventory.Config{{}, {AgentURL: "http://x"}, {AgentURL: "https://x", NodeTimeout: time.Millisecond}, {AgentURL: "https://x", MaxConns: -1}} {
		_, err := inventory.New(cfg, host.Env{})
		require.Error(t, err)
	}
	_, err := inventory.New(inventory.Config{AgentURL: "https://x"}, host.Env{})
	require.NoError(t, err)
}
