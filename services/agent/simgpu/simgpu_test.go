package simgpu

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent/driver"
)

func node(t testing.TB, boards string) (*Node, Config) {
	t.Helper()
	groups, err := ParseNodes(boards)
	require.NoError(t, err)
	cfg := Config{Dir: t.TempDir(), Name: "n1", Clock: clock.Real{}}
	for _, g := range groups {
		cfg.Boards = append(cfg.Boards, g.Cards)
	}
	n, err := Open(cfg)
	require.NoError(t, err)
	return n, cfg
}

func cards(t testing.TB, n *Node) []driver.Card {
	t.Helper()
	cards, err := n.Cards(t.Context())
	require.NoError(t, err)
	return cards
}

func layout(t testing.TB, n *Node, gpu string) []driver.Instance {
	t.Helper()
	list, err := n.Instances(t.Context(), gpu)
	require.NoError(t, err)
	return list
}

// Every GPU-instance profile of every board, at every legal start, with the compute profile looked up on the card:
// created, read back, destroyed. 7g.40gb on an A100 is the one that failed elsewhere (dra-driver-nvidia-gpu#1480).
func TestEveryProfileOfEveryBoardIsCutAndUndone(t *testing.T) {
	t.Parallel()
	cut := map[string]bool{}
	for _, b := range mig.Boards() {
		if b.Units == 0 {
			continue
		}
		n, _ := node(t, b.Key+":1@mig")
		card := cards(t, n)[0]
		for _, p := range card.Geometry.Profiles {
			for _, start := range p.Starts {
				at := mig.Placement{Start: start, Size: p.Size}
				gi, err := n.CreateInstance(t.Context(), card.UUID, p.ID, at)
				require.NoError(t, err, "%s on %s at %d", p.Name, b.Key, start)
				offered, err := n.ComputeProfiles(t.Context(), card.UUID, gi)
				require.NoError(t, err)
				full, ok := driver.Fullest(offered)
				require.True(t, ok)
				ci, err := n.CreateCompute(t.Context(), card.UUID, gi, full.ID)
				require.NoError(t, err, "%s on %s", p.Name, b.Key)
				got := layout(t, n, card.UUID)
				require.Len(t, got, 1)
				require.Equal(t, p.Name, got[0].Profile)
				require.Equal(t, at, got[0].Placement)
				require.Equal(t, p.SMs, got[0].Compute[0].SMs)
				require.ErrorIs(t, n.DestroyInstance(t.Context(), card.UUID, gi), driver.ErrInUse)
				require.NoError(t, n.DestroyCompute(t.Context(), card.UUID, gi, ci))
				require.NoError(t, n.DestroyInstance(t.Context(), card.UUID, gi))
				cut[p.Name+"@"+b.Key] = true
			}
		}
		require.Empty(t, layout(t, n, card.UUID))
	}
	require.Contains(t, cut, "7g.40gb@a100-40gb")
}

func TestComputeProfileByFormulaIsRefused(t *testing.T) {
	t.Parallel()
	n, _ := node(t, "a100-40gb:1")
	card := cards(t, n)[0]
	gi, err := n.CreateInstance(t.Context(), card.UUID, 0, mig.Placement{Start: 0, Size: 8})
	require.NoError(t, err)
	_, err = n.CreateCompute(t.Context(), card.UUID, gi, 8)
	require.ErrorIs(t, err, driver.ErrNotSupported)
}

func TestWhatTheCardRefuses(t *testing.T) {
	t.Parallel()
	n, _ := node(t, "h100-80gb-sxm5:1@mig")
	gpu := cards(t, n)[0].UUID
	create := func(profile, start, size int) error {
		_, err := n.CreateInstance(t.Context(), gpu, profile, mig.Placement{Start: start, Size: size})
		return err
	}
	const one, three, seven = 19, 9, 0
	require.NoError(t, create(three, 4, 4))
	require.ErrorIs(t, create(one, 5, 1), driver.ErrNoRoom, "occupied span")
	require.ErrorIs(t, create(seven, 0, 8), driver.ErrNoRoom, "no room")
	require.ErrorIs(t, create(three, 2, 4), driver.ErrInvalid, "not a start of 3g")
	require.ErrorIs(t, create(three, 0, 3), driver.ErrInvalid, "3g spans 4")
	require.ErrorIs(t, create(one, 7, 1), driver.ErrInvalid, "the eighth unit has no compute")
	require.ErrorIs(t, create(3, 0, 1), driver.ErrInvalid, "NVML's enum is not the id")
	require.NoError(t, create(20, 0, 1), "1g+me")
	require.ErrorIs(t, create(20, 1, 1), driver.ErrNoRoom, "one set of media engines")
	require.ErrorIs(t, n.DestroyInstance(t.Context(), gpu, 14), driver.ErrNotFound)
	require.ErrorIs(t, n.SetMIGMode(t.Context(), gpu, false), driver.ErrInUse)
	_, err := n.CreateInstance(t.Context(), "GPU-none", one, mig.Placement{Start: 0, Size: 1})
	require.ErrorIs(t, err, driver.ErrNotFound)
}

func TestScatteredSlicesBlockByPosition(t *testing.T) { // dra-driver-nvidia-gpu#933
	t.Parallel()
	n, _ := node(t, "h100-80gb-sxm5:1@mig")
	gpu := cards(t, n)[0].UUID
	for _, start := range []int{0, 1, 5} {
		_, err := n.CreateInstance(t.Context(), gpu, 19, mig.Placement{Start: start, Size: 1})
		require.NoError(t, err)
	}
	for _, start := range []int{0, 4} {
		_, err := n.CreateInstance(t.Context(), gpu, 9, mig.Placement{Start: start, Size: 4})
		require.ErrorIs(t, err, driver.ErrNoRoom)
	}
	_, err := n.CreateInstance(t.Context(), gpu, 14, mig.Placement{Start: 2, Size: 2})
	require.NoError(t, err)
	_, err = n.CreateInstance(t.Context(), gpu, 15, mig.Placement{Start: 6, Size: 2})
	require.NoError(t, err)
}

func TestWholeAndMIGExcludeEachOther(t *testing.T) {
	t.Parallel()
	n, _ := node(t, "h100-80gb-sxm5:1")
	card := cards(t, n)[0]
	require.Equal(t, driver.ModeOff, card.Mode, "Hopper is auto by default")
	_, err := n.CreateInstance(t.Context(), card.UUID, 19, mig.Placement{Start: 0, Size: 1})
	require.ErrorIs(t, err, driver.ErrNotSupported, "MIG is off")
	require.NoError(t, n.Opened(t.Context(), card.UUID, "m1"))
	require.ErrorIs(t, n.SetMIGMode(t.Context(), card.UUID, true), driver.ErrInUse)
	require.NoError(t, n.Closed(t.Context(), card.UUID, "m1"))
	require.NoError(t, n.SetMIGMode(t.Context(), card.UUID, true))
	require.ErrorIs(t, n.Opened(t.Context(), card.UUID, "m2"), driver.ErrNotSupported)

	ampere, _ := node(t, "a100-40gb:1")
	card = cards(t, ampere)[0]
	require.Equal(t, driver.ModeOn, card.Mode, "Ampere is cut by default")
	require.ErrorIs(t, ampere.SetMIGMode(t.Context(), card.UUID, false), driver.ErrNotSupported)
	t4, _ := node(t, "t4-16gb:2")
	require.ErrorIs(t, t4.SetMIGMode(t.Context(), cards(t, t4)[0].UUID, true), driver.ErrNotSupported)
}

func TestIDsAreReusedUUIDsAreNotAndAProcessHoldsItsSlice(t *testing.T) {
	t.Parallel()
	n, _ := node(t, "h100-80gb-sxm5:1@mig")
	gpu := cards(t, n)[0].UUID
	make1 := func() (int, int, string) {
		gi, err := n.CreateInstance(t.Context(), gpu, 19, mig.Placement{Start: 3, Size: 1})
		require.NoError(t, err)
		ci, err := n.CreateCompute(t.Context(), gpu, gi, 0)
		require.NoError(t, err)
		return gi, ci, layout(t, n, gpu)[0].Compute[0].UUID
	}
	gi, ci, first := make1()
	require.Equal(t, 10, gi, "the id encodes the span")
	require.NoError(t, n.Opened(t.Context(), first, "m1"))
	require.ErrorIs(t, n.DestroyCompute(t.Context(), gpu, gi, ci), driver.ErrInUse)
	require.NoError(t, n.Closed(t.Context(), first, "m1"))
	require.NoError(t, n.DestroyCompute(t.Context(), gpu, gi, ci))
	require.NoError(t, n.DestroyInstance(t.Context(), gpu, gi))
	again, _, second := make1()
	require.Equal(t, gi, again)
	require.NotEqual(t, first, second)
}

func TestStateOutlivesTheProcessButNotTheBoot(t *testing.T) {
	t.Parallel()
	n, cfg := node(t, "h100-80gb-sxm5:1@mig,a100-40gb:1")
	gpu := cards(t, n)[0].UUID
	_, err := n.CreateInstance(t.Context(), gpu, 19, mig.Placement{Start: 0, Size: 1})
	require.NoError(t, err)
	boot, err := n.BootID(t.Context())
	require.NoError(t, err)

	again, err := Open(cfg)
	require.NoError(t, err)
	same, err := again.BootID(t.Context())
	require.NoError(t, err)
	require.Equal(t, boot, same)
	require.Len(t, layout(t, again, gpu), 1)

	require.NoError(t, again.Reboot())
	next, err := again.BootID(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, boot, next)
	require.Empty(t, layout(t, again, gpu))
	third, err := Open(cfg)
	require.NoError(t, err)
	require.Empty(t, layout(t, third, gpu))
	require.Equal(t, gpu, cards(t, third)[0].UUID, "the card is the same one")

	require.NoError(t, os.WriteFile(cardPath(cfg.Dir, 0), []byte("torn"), 0o600))
	torn, err := Open(cfg)
	require.NoError(t, err)
	require.Empty(t, layout(t, torn, gpu))

	cfg.Boards = cfg.Boards[:1]
	_, err = Open(cfg)
	require.ErrorContains(t, err, "other cards")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	n, _ := node(t, "h100-80gb-sxm5:2@mig")
	list := cards(t, n)
	a, b := list[0].UUID, list[1].UUID
	at := mig.Placement{Start: 0, Size: 1}

	require.NoError(t, n.FailNextCreate(0))
	_, err := n.CreateInstance(t.Context(), b, 19, at)
	require.NoError(t, err, "only card 0 fails")
	_, err = n.CreateInstance(t.Context(), a, 19, at)
	require.ErrorIs(t, err, driver.ErrNoRoom)
	_, err = n.CreateInstance(t.Context(), a, 19, at)
	require.NoError(t, err, "once")

	require.NoError(t, n.ForeignMIG(1))
	require.Len(t, layout(t, n, b), 2)
	require.NoError(t, n.Xid(0, 13))
	require.NoError(t, n.Xid(0, 79))
	_, err = n.Instances(t.Context(), a)
	require.ErrorIs(t, err, driver.ErrLost)
	require.True(t, cards(t, n)[0].Lost)
	require.ErrorIs(t, n.Lose(7), driver.ErrNotFound)
	require.NoError(t, n.Heal())
	require.Len(t, layout(t, n, a), 1, "what was on the card is still there")
	require.Len(t, layout(t, n, b), 1, "the foreign slice is gone")

	fake := clock.NewFake(time.Unix(0, 0))
	n.clock = fake
	n.Slow(3 * time.Second)
	done := make(chan error, 1)
	go func() { _, err := n.Instances(t.Context(), a); done <- err }()
	require.NoError(t, fake.AwaitWaiters(t.Context(), 1))
	fake.Advance(3 * time.Second)
	require.NoError(t, <-done)
	n.Slow(0)

	n.Wedge()
	go func() { _, err := n.Instances(t.Context(), a); done <- err }()
	select {
	case <-done:
		t.Fatal("a wedged card answered")
	case <-time.After(20 * time.Millisecond):
	}
	require.NoError(t, n.Heal())
	require.NoError(t, <-done)
}

func TestBoardsAreParsed(t *testing.T) {
	t.Parallel()
	groups, err := ParseNodes("2xh100-80gb-sxm5:8, 1xa100-40gb:4,t4-16gb,h100-80gb-pcie:2@whole")
	require.NoError(t, err)
	require.Equal(t, []Group{
		{2, Boards{"h100-80gb-sxm5", 8, "auto"}}, {1, Boards{"a100-40gb", 4, "mig"}},
		{1, Boards{"t4-16gb", 1, "auto"}}, {1, Boards{"h100-80gb-pcie", 2, "whole"}},
	}, groups)
	for _, bad := range []string{"h101:8", "a100-40gb:0", "a100-40gb:65", "a100-40gb:x", "t4-16gb:1@mig", "a100-40gb:1@best", "0xa100-40gb:4", "999999xa100-40gb"} {
		_, err := ParseNodes(bad)
		require.Error(t, err, bad)
	}
}

func ExampleParseNodes() {
	groups, _ := ParseNodes("2xh100-80gb-sxm5:8")
	fmt.Println(groups[0].Nodes, groups[0].Cards.Board, groups[0].Cards.Count, groups[0].Cards.Policy)
	// Output: 2 h100-80gb-sxm5 8 auto
}
