package mig

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableIsSound(t *testing.T) {
	t.Parallel()
	all := Boards()
	require.True(t, sort.SliceIsSorted(all, func(i, j int) bool { return all[i].Key < all[j].Key }))
	keys, models := map[string]bool{}, map[string]bool{}
	for _, b := range all {
		require.False(t, keys[b.Key] || models[b.Model], b.Key)
		keys[b.Key], models[b.Model] = true, true
		require.Positive(t, b.MemoryMiB, b.Key)
		require.Positive(t, b.SMs, b.Key)
		require.NotEmpty(t, b.Product, b.Key)
		require.Equal(t, b.Units == 0, len(b.Profiles) == 0, b.Key)
		require.Equal(t, b.Units > 0 && b.Arch == "ampere", b.ResetToToggle, b.Key)
		seen := map[string]bool{}
		for _, p := range b.Profiles {
			require.False(t, seen[p.Name], p.Name)
			seen[p.Name] = true
			require.LessOrEqual(t, p.MemoryMiB, b.MemoryMiB)
			require.LessOrEqual(t, p.SMs, b.SMs)
			require.NotEmpty(t, p.Starts)
			if p.Media {
				require.Equal(t, 1, p.Max, p.Name)
				require.False(t, p.Plain())
			}
			for _, s := range p.Starts {
				require.True(t, b.Geometry().Legal(p.Name, Placement{s, p.Size}))
			}
		}
	}
}

// kubernetes-sigs/dra-driver-nvidia-gpu#1480: a full-size GPU instance needs the compute instance profile of its own size,
// and a double-memory 1g may need the revised one; 0 is right for neither.
func TestEveryProfileHasItsComputeInstance(t *testing.T) {
	t.Parallel()
	ids := map[int][]int{1: {ciOne, ciRev1}, 2: {ciTwo}, 3: {ciThree}, 4: {ciFour}, 7: {ciSeven}}
	for _, b := range Boards() {
		for _, p := range b.Profiles {
			require.Contains(t, ids[p.ComputeSlices], p.CIProfileID, "%s %s", b.Key, p.Name)
		}
	}
	for key, want := range map[string]map[string]int{
		"a100-40gb":      {"7g.40gb": 4, "1g.10gb": 0},
		"gh200-96gb":     {"1g.12gb": 0, "1g.24gb": 7},
		"h100-80gb-sxm5": {"3g.40gb": 2, "1g.20gb": 7},
	} {
		for name, id := range want {
			require.Equal(t, id, profile(t, geometry(t, key), name).CIProfileID, "%s %s", key, name)
		}
	}
}

func TestCallersCannotChangeTheTable(t *testing.T) {
	t.Parallel()
	b, ok := BoardByKey("h100-80gb-sxm5")
	require.True(t, ok)
	b.Profiles[0].Starts[0] = 99
	b.Profiles[1].Name = "gone"
	again, _ := BoardByKey("h100-80gb-sxm5")
	require.Equal(t, 0, again.Profiles[0].Starts[0])
	require.Equal(t, "1g.10gb+me", again.Profiles[1].Name)
	_, ok = BoardByKey("h100")
	require.False(t, ok)
}

// The list of public facts lives beside the repository, not in it.
const facts = "../../../../shared/data/gpu/mig-profiles.json"

func TestTableEqualsThePublicFacts(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(facts)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no %s here: the table cannot be compared with the public facts", facts)
	}
	require.NoError(t, err)
	var doc struct {
		GPUs []struct {
			Key, Arch string
			Product   []string
			Units     int    `json:"memory_slices"`
			Toggle    string `json:"mig_toggle"`
			Profiles  []struct {
				Name       string
				ID         int `json:"gi_profile_id"`
				MiB        int `json:"memory_mib"`
				SM         int
				Compute    int  `json:"compute_slices"`
				Size       int  `json:"memory_slices"`
				Max        int  `json:"max_instances"`
				Media      bool `json:"media_extensions"`
				Graphics   bool
				Placements []Placement
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	require.NotEmpty(t, doc.GPUs)
	for _, g := range doc.GPUs {
		b, ok := BoardByKey(g.Key)
		require.True(t, ok, g.Key)
		require.Equal(t, g.Units, b.Units, g.Key)
		require.Equal(t, g.Arch, b.Arch, g.Key)
		require.Contains(t, g.Product, b.Product)
		if g.Units == 0 {
			continue // nobody published how this board is cut
		}
		require.Equal(t, g.Toggle == "gpu_reset", b.ResetToToggle, g.Key)
		require.Len(t, b.Profiles, len(g.Profiles), g.Key)
		for _, want := range g.Profiles {
			got, ok := b.Profile(want.Name)
			require.True(t, ok, "%s %s", g.Key, want.Name)
			var starts []int
			for _, at := range want.Placements {
				starts = append(starts, at.Start)
				require.Equal(t, at.Size, got.Size)
			}
			require.Equal(t, Profile{Name: want.Name, ID: want.ID, CIProfileID: got.CIProfileID, MemoryMiB: want.MiB, SMs: want.SM,
				ComputeSlices: want.Compute, Size: want.Size, Starts: starts, Max: want.Max, Media: want.Media, Graphics: want.Graphics},
				got, "%s %s", g.Key, want.Name)
		}
	}
}
