package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/sim/internal/domain"
)

// nobody is an inventory that gives tokens for a door that nobody opens.
type nobody struct{ states map[string]string }

func (n nobody) State(_ context.Context, name string) (string, error) { return n.states[name], nil }

func (nobody) JoinToken(context.Context, string) (domain.Token, error) {
	return domain.Token{Secret: "wj_x", CAPin: "sha256:" + strings.Repeat("0", 64)}, nil
}

func newFleet(t *testing.T, dir string, inventory domain.Inventory, nodes ...Node) *Fleet {
	t.Helper()
	return New(Config{Nodes: nodes, StateDir: dir, Runtime: "null", Server: "https://127.0.0.1:9"}, inventory, clock.Real{},
		slog.New(slog.NewTextHandler(t.Output(), nil)))
}

var small = Node{Name: "n1", Board: "l4-24gb", Cards: 1, Policy: "auto", VCPUMilli: 1000, RAMMiB: 1024}

// during runs f's nodes while do works.
func during(t *testing.T, f *Fleet, do func()) {
	t.Helper()
	require.NoError(t, f.Open(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	do()
	cancel()
	require.NoError(t, <-ended)
	require.NoError(t, f.Close())
}

func boot(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "n1", "cards", "node.json"))
	require.NoError(t, err)
	var file struct {
		BootID string `json:"boot_id"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.BootID)
	return file.BootID
}

// A process that just ends (kill -9 is one) leaves the boot; a farewell ends it.
func TestBootsEndWithAFarewellOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	during(t, newFleet(t, dir, nobody{}, small), func() {})
	first := boot(t, dir)
	during(t, newFleet(t, dir, nobody{}, small), func() {})
	require.Equal(t, first, boot(t, dir))
	f := newFleet(t, dir, nobody{}, small)
	during(t, f, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // nobody listens
		defer cancel()
		f.Farewell(ctx)
	})
	require.NotEqual(t, first, boot(t, dir), "off all the same")
}

func TestAStateOfOtherCardsIsToldAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	during(t, newFleet(t, dir, nobody{}, small), func() {})
	other := small
	other.Cards = 2
	require.ErrorContains(t, newFleet(t, dir, nobody{}, other).Open(t.Context()), "other cards than asked for")
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	inventory := nobody{map[string]string{}}
	clk := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	two := small
	two.Name = "n2"
	f := New(Config{Nodes: []Node{small, two}}, inventory, clk, slog.New(slog.DiscardHandler))
	f.opened = clk.Now()
	inventory.states["n1"] = domain.Ready
	require.ErrorContains(t, f.Ready(t.Context()), "n2")
	inventory.states["n1"] = "not_ready" // it was heard of once
	inventory.states["n2"] = domain.Ready
	require.NoError(t, f.Ready(t.Context()))

	f = New(Config{Nodes: []Node{small}}, inventory, clk, slog.New(slog.DiscardHandler))
	f.opened = clk.Now()
	require.ErrorIs(t, f.Ready(t.Context()), fault.Unavailable)
	clk.Advance(patience + time.Second)
	require.NoError(t, f.Ready(t.Context()), "one that does not come holds nobody up")
}

func TestFaultsOfUnknownNodes(t *testing.T) {
	t.Parallel()
	f := newFleet(t, t.TempDir(), nobody{}, small)
	id, err := f.Inject(t.Context(), "other", domain.Fault{Kind: domain.Heal})
	require.NoError(t, err)
	require.Empty(t, id)
	_, err = f.Inject(t.Context(), "n1", domain.Fault{Kind: domain.Heal})
	require.ErrorIs(t, err, fault.Unavailable, "not open yet")
	require.False(t, errors.Is(err, fault.NotFound))
}
