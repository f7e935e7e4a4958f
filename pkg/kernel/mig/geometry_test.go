package mig

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func geometry(t require.TestingT, key string) Geometry {
	b, ok := BoardByKey(key)
	require.True(t, ok, key)
	return b.Geometry()
}

func profile(t require.TestingT, g Geometry, name string) Profile {
	p, ok := g.Profile(name)
	require.True(t, ok, name)
	return p
}

// kubernetes-sigs/dra-driver-nvidia-gpu#933: free units are not free starts.
func TestFitsAtLegalStartsOnly(t *testing.T) {
	t.Parallel()
	g := geometry(t, "h100-80gb-sxm5")
	occupied := []Placement{{0, 1}, {1, 1}, {5, 1}}

	require.Empty(t, g.Fits(occupied, profile(t, g, "3g.40gb")))
	require.Equal(t, []int{2}, g.Fits(occupied, profile(t, g, "2g.20gb")))
	require.Equal(t, []int{2, 6}, g.Fits(occupied, profile(t, g, "1g.20gb")))
	largest, ok := g.Largest(occupied)
	require.True(t, ok)
	require.Equal(t, "2g.20gb", largest.Name)

	occupied = append(occupied, Placement{2, 2})
	require.Empty(t, g.Fits(occupied, profile(t, g, "2g.20gb")))
	require.Equal(t, []int{4, 6}, g.Fits(occupied, profile(t, g, "1g.10gb")))
}

func TestLargest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		board    string
		occupied []Placement
		want     string
	}{
		{"h100-80gb-sxm5", nil, "7g.80gb"},
		{"h100-80gb-sxm5", []Placement{{6, 1}}, "4g.40gb"},
		{"h100-80gb-sxm5", []Placement{{0, 1}}, "3g.40gb"},
		{"h100-80gb-sxm5", []Placement{{0, 4}, {4, 2}}, "1g.20gb"},
		{"h100-80gb-sxm5", []Placement{{0, 4}, {4, 4}}, ""},
		{"rtx-pro-6000-blackwell-96gb", []Placement{{0, 3}}, "2g.48gb"},
		{"rtx-pro-6000-blackwell-96gb", []Placement{{3, 3}, {6, 3}}, "1g.24gb"},
		{"a30-24gb", []Placement{{3, 1}}, "2g.12gb"},
		{"t4-16gb", nil, ""},
	} {
		got, ok := geometry(t, c.board).Largest(c.occupied)
		require.Equal(t, c.want != "", ok)
		require.Equal(t, c.want, got.Name, "%s %v", c.board, c.occupied)
	}
}

func TestGIIDFollowsTheSpan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ units, start, size, want int }{
		{8, 0, 8, 0}, {8, 0, 4, 1}, {8, 4, 4, 2}, {8, 0, 2, 3}, {8, 6, 2, 6}, {8, 0, 1, 7}, {8, 7, 1, 14},
		{4, 0, 4, 0}, {4, 2, 2, 2}, {4, 3, 1, 6},
		{12, 0, 12, 0}, {12, 6, 6, 2}, {12, 9, 3, 6},
	} {
		require.Equal(t, c.want, GIID(c.units, Placement{c.start, c.size}), "%+v", c)
	}
	for _, units := range []int{4, 8, 12} {
		seen := map[int]Placement{}
		for size := 1; size <= units; size++ {
			for start := 0; start+size <= units; start++ {
				id := GIID(units, Placement{start, size})
				require.NotContains(t, seen, id)
				seen[id] = Placement{start, size}
			}
		}
	}
}

// Spans alone keep every board inside its compute slices and every profile inside its maximum, so placement needs no counters.
func TestSpansImplyTheOtherLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SampledFrom(cut()).Draw(t, "board")
		g := b.Geometry()
		var occupied []Placement
		compute, count := 0, map[string]int{}
		for range 16 {
			p := rapid.SampledFrom(g.Profiles).Filter(func(p Profile) bool { return p.Plain() }).Draw(t, "profile")
			starts := g.Fits(occupied, p)
			if len(starts) == 0 {
				continue
			}
			at := Placement{rapid.SampledFrom(starts).Draw(t, "start"), p.Size}
			require.True(t, g.Legal(p.Name, at))
			for _, o := range occupied {
				require.False(t, at.Overlaps(o))
			}
			occupied = append(occupied, at)
			compute += p.ComputeSlices
			count[p.Name]++
			require.LessOrEqual(t, count[p.Name], p.Max)
		}
		whole, _ := g.Largest(nil)
		require.LessOrEqual(t, compute, whole.ComputeSlices)
	})
}

func cut() []Board {
	var all []Board
	for _, b := range Boards() {
		if b.Units > 0 {
			all = append(all, b)
		}
	}
	return all
}
