package domain

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func card(uuid string, index int) Card {
	return Card{UUID: uuid, Facts: CardFacts{Index: index, Board: "h100-80gb-sxm5", Arch: "hopper", MemoryMiB: 81559, SMs: 132, Units: 8,
		MIGMode: MIGOff, Profiles: []Profile{{Name: "1g.10gb", ID: 19, Size: 1, ComputeSlices: 1, Starts: []int{0, 1, 2, 3, 4, 5, 6}}}}}
}

func minter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("gpu_%d", n) }
}

func merged(t *testing.T, n *Node, have []GPU, st Status) ([]GPU, []GPU, bool) {
	t.Helper()
	all, dirty, changed := Merge(n, have, st, PolicyAuto, minter())
	_, again, changedAgain := Merge(n, all, st, PolicyAuto, minter())
	require.Empty(t, again, "the same status twice changes nothing")
	require.False(t, changedAgain)
	return all, dirty, changed
}

func TestMergeOfTheFirstStatus(t *testing.T) {
	t.Parallel()
	n := Node{ID: "nod_1", State: NodeNotReady, Reason: Enrolled}
	set := card("GPU-b", 1)
	set.Policy = PolicyMIG
	all, dirty, changed := merged(t, &n, nil, Status{BootID: "b", Cards: []Card{card("GPU-a", 0), set}})
	require.True(t, changed)
	require.Equal(t, NodeReady, n.State)
	require.Empty(t, n.Reason)
	require.Equal(t, all, dirty)
	require.Equal(t, "h100-80gb", all[0].Model)
	require.Equal(t, PolicyAuto, all[0].Policy, "the pool's policy")
	require.Equal(t, PolicyMIG, all[1].Policy, "what the node was set up with")
}

func TestMergeOfCards(t *testing.T) {
	t.Parallel()
	n := Node{ID: "nod_1", State: NodeReady}
	first := Status{BootID: "b", Cards: []Card{card("GPU-a", 0), card("GPU-b", 1)}}
	all, _, _ := Merge(&n, nil, first, PolicyAuto, minter())

	t.Run("a changed policy is the operator's, not the node's", func(t *testing.T) {
		t.Parallel()
		n, st := n, first
		have := append([]GPU{}, all...)
		have[0].Policy = PolicyWhole
		st.Cards = []Card{card("GPU-a", 0), card("GPU-b", 1)}
		st.Cards[0].Policy = PolicyMIG
		after, dirty, changed := merged(t, &n, have, st)
		require.False(t, changed)
		require.Empty(t, dirty)
		require.Equal(t, PolicyWhole, after[0].Policy)
	})
	t.Run("a card no longer named is lost and comes back", func(t *testing.T) {
		t.Parallel()
		n := n
		lost, dirty, changed := merged(t, &n, all, Status{BootID: "b", Cards: first.Cards[:1]})
		require.True(t, changed)
		require.Len(t, dirty, 1)
		require.Len(t, lost, 2, "never deleted")
		require.Equal(t, GPULost, lost[1].State)
		back, _, changed := merged(t, &n, lost, first)
		require.True(t, changed)
		require.Equal(t, GPUOK, back[1].State)
		require.Equal(t, all[1].ID, back[1].ID)
	})
	t.Run("a card reported as lost keeps what it was", func(t *testing.T) {
		t.Parallel()
		n := n
		gone := Card{UUID: "GPU-b", Lost: true}
		after, _, changed := merged(t, &n, all, Status{BootID: "b", Cards: []Card{first.Cards[0], gone}})
		require.True(t, changed)
		require.Equal(t, GPULost, after[1].State)
		require.Equal(t, all[1].Facts, after[1].Facts)
	})
	t.Run("a foreign slice quarantines the card until it is gone", func(t *testing.T) {
		t.Parallel()
		n, c := n, first.Cards[1]
		c.Seen.Layout = []SliceSeen{{Start: 0, Size: 1, Profile: "1g.10gb", Foreign: true}}
		after, dirty, changed := merged(t, &n, all, Status{BootID: "b", Cards: []Card{first.Cards[0], c}})
		require.True(t, changed)
		require.Len(t, dirty, 1)
		require.Equal(t, GPUQuarantined, after[1].State)
		healed, _, _ := merged(t, &n, after, first)
		require.Equal(t, GPUOK, healed[1].State)
	})
	t.Run("slices of ours change no fact", func(t *testing.T) {
		t.Parallel()
		n, c := n, first.Cards[1]
		c.Seen.Layout = []SliceSeen{{Start: 0, Size: 1, Profile: "1g.10gb", Member: "mem_1"}}
		_, dirty, changed := merged(t, &n, all, Status{BootID: "b", Cards: []Card{first.Cards[0], c}})
		require.False(t, changed)
		require.Empty(t, dirty)
	})
	t.Run("a quarantined node stays so", func(t *testing.T) {
		t.Parallel()
		n := n
		n.State, n.Reason, n.Quarantined = NodeNotReady, DuplicateIdentity, true
		_, _, changed := merged(t, &n, all, first)
		require.False(t, changed)
		require.Equal(t, NodeNotReady, n.State)
	})
}

// Whatever an agent reports in whatever order: no card is ever forgotten, an id stays with
// its UUID, the cards ready to sell are exactly those in the last status, and equal facts
// hash alike exactly when a merge changes nothing.
func TestMergeProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := Node{ID: "nod_1", State: NodeNotReady}
		var have []GPU
		ids, mint := map[string]string{}, minter()
		var last *Status
		for range rapid.IntRange(1, 8).Draw(t, "statuses") {
			st := Status{BootID: "b", Node: NodeFacts{RAMMiB: rapid.Int64Range(1, 2).Draw(t, "ram")}}
			present := map[string]bool{}
			for i := range 4 {
				if !rapid.Bool().Draw(t, "present") {
					continue
				}
				c := card(fmt.Sprintf("GPU-%d", i), i)
				c.Lost = rapid.IntRange(0, 4).Draw(t, "lost") == 0
				present[c.UUID] = !c.Lost
				st.Cards = append(st.Cards, c)
			}
			all, _, changed := Merge(&n, have, st, PolicyAuto, mint)
			if last != nil && last.FactsHash() == st.FactsHash() && changed {
				t.Fatal("equal facts changed something")
			}
			if len(all) < len(have) {
				t.Fatal("a card was forgotten")
			}
			for _, g := range all {
				if ids[g.UUID] == "" {
					ids[g.UUID] = g.ID
				}
				if ids[g.UUID] != g.ID {
					t.Fatal("a card got another id")
				}
				if (g.State == GPUOK) != present[g.UUID] {
					t.Fatalf("card %s is %s", g.UUID, g.State)
				}
			}
			have, last = all, &st
		}
	})
}

func TestLargestFree(t *testing.T) {
	t.Parallel()
	g := GPU{State: GPUOK, Policy: PolicyAuto, Facts: card("GPU-a", 0).Facts}
	g.Facts.Profiles = append(g.Facts.Profiles, Profile{Name: "7g.80gb", Size: 8, ComputeSlices: 7, Starts: []int{0}})
	require.Equal(t, "7g.80gb", g.LargestFree())
	g.Seen.Layout = []SliceSeen{{Start: 3, Size: 1}}
	require.Equal(t, "1g.10gb", g.LargestFree())
	g.Policy = PolicyWhole
	require.Empty(t, g.LargestFree())
	g.Policy, g.Facts.ResetToToggle = PolicyAuto, true
	require.Empty(t, g.LargestFree(), "MIG is off and needs a reset")
}
