package place

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

var boardsDrawn = []string{h100, h100, "a100-40gb", "rtx-pro-6000-blackwell-96gb", "a30-24gb", "t4-16gb"}

func drawNode(t *rapid.T, id string) Node {
	board := rapid.SampledFrom(boardsDrawn).Draw(t, "board")
	n := testNode(t, id, board, rapid.IntRange(0, 4).Draw(t, "cards"))
	n.Schedulable = rapid.IntRange(0, 5).Draw(t, "ready") > 0
	n.CPUMilli = int64(rapid.IntRange(1, 16).Draw(t, "cpu")) * 4000
	n.MemoryMiB = int64(rapid.IntRange(1, 16).Draw(t, "ram")) * 16384
	for i := range n.Cards {
		c := &n.Cards[i]
		c.Policy = rapid.SampledFrom([]Policy{PolicyAuto, PolicyAuto, PolicyWhole, PolicyMIG}).Draw(t, "policy")
		c.Sellable = rapid.IntRange(0, 7).Draw(t, "healthy") > 0
		c.MIGMode, c.ModeFixed = rapid.Bool().Draw(t, "mode"), rapid.IntRange(0, 3).Draw(t, "fixed") == 0
	}
	return n
}

func drawWant(t *rapid.T) Want {
	b, _ := mig.BoardByKey(rapid.SampledFrom(boardsDrawn).Draw(t, "model"))
	w := Want{Offering: "x", Model: b.Model, Kind: KindWhole, Count: rapid.IntRange(1, 3).Draw(t, "count")}
	if b.Units > 0 && rapid.IntRange(0, 3).Draw(t, "sliced") > 0 {
		plain := slices.DeleteFunc(b.Profiles, func(p mig.Profile) bool { return !p.Plain() })
		w.Kind, w.Count, w.Profile = KindMIG, 1, rapid.SampledFrom(plain).Draw(t, "profile").Name
	}
	w.CPUMilli = int64(rapid.IntRange(0, 4).Draw(t, "cpu")) * 2000
	w.MemoryMiB = int64(rapid.IntRange(0, 4).Draw(t, "ram")) * 8192
	return w
}

// Whatever happens to a small pool: nothing overlaps, every start is legal, no node is overcommitted, and the engine finds a
// place exactly when the brute-force reference does.
func TestEngineEqualsTheReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := &renter{pool: NewPool()}
		live := map[string]IDs{}
		put := func(t *rapid.T) {
			r.pool.PutNode(drawNode(t, fmt.Sprintf("n%d", rapid.IntRange(1, 3).Draw(t, "node"))))
		}
		put(t)
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				s := r.pool.Snapshot()
				require.Empty(t, Check(s))
				w := drawWant(t)
				require.Equal(t, feasible(s, w) > 0, r.pool.Available(w, 1) == 1)
			},
			"put":    put,
			"remove": func(t *rapid.T) { r.pool.RemoveNode(fmt.Sprintf("n%d", rapid.IntRange(1, 3).Draw(t, "node"))) },
			"rent": func(t *rapid.T) {
				req := Request{Nodes: rapid.IntRange(1, 2).Draw(t, "members"), Offerings: []Want{drawWant(t), drawWant(t)}}
				s := r.pool.Snapshot()
				again, _, err := Plan(s, req)
				require.NoError(t, err)
				ids, d := r.rent(t, req)
				require.Equal(t, again, d, "the same pool gives the same decision")
				first := slices.IndexFunc(req.Offerings, func(w Want) bool { return feasible(s, w) >= req.Nodes })
				require.Equal(t, first >= 0, d.OK())
				if !d.OK() {
					_, e := r.pool.Plan(req)
					for i, b := range e.Blocked {
						require.Equal(t, feasible(s, req.Offerings[i]), b.Nodes)
					}
					return
				}
				require.Equal(t, first, d.Want)
				for _, id := range ids {
					live[id.Member] = id
				}
			},
			"free": func(t *rapid.T) {
				if len(live) == 0 {
					return
				}
				id := rapid.SampledFrom(slices.Sorted(maps.Keys(live))).Draw(t, "member")
				r.pool.Undo([]IDs{live[id]})
				delete(live, id)
			},
		})
	})
}

// Available is exactly how often Plan and Apply can be repeated; discarding that what-if leaves the pool as it was, and
// releasing everything leaves it as if nothing had been rented.
func TestAvailableIsWhatPlanRepeats(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := &renter{pool: testPool(drawNode(t, "n1"), drawNode(t, "n2"))}
		empty := r.pool.Snapshot()
		for range rapid.IntRange(0, 6).Draw(t, "rented") {
			r.rent(t, one(drawWant(t)))
		}
		w, before := drawWant(t), r.pool.Snapshot()
		st := r.pool.Begin()
		n := 0
		for ; n < 50; n++ {
			d, _ := r.pool.Plan(one(w))
			if !d.OK() {
				break
			}
			require.NoError(t, st.Apply(d, r.ids(d)))
		}
		require.Empty(t, Check(r.pool.Snapshot()))
		st.Discard()
		require.Equal(t, before, r.pool.Snapshot())
		require.Equal(t, n, r.pool.Available(w, 50))

		for _, m := range before.Members {
			r.pool.FreeMember(m.ID)
		}
		require.Equal(t, empty, r.pool.Snapshot())
	})
}

// No other legal start of the same card would have kept a larger profile.
func TestSliceKeepsTheLargestProfileOfItsCard(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		board := rapid.SampledFrom([]string{h100, "a30-24gb", "rtx-pro-6000-blackwell-96gb"}).Draw(t, "board")
		b, _ := mig.BoardByKey(board)
		g := b.Geometry()
		n := testNode(t, "n1", board, 1)
		n.Cards[0].ModeFixed = false
		r := &renter{pool: testPool(n)}
		var occupied []mig.Placement
		for range 7 {
			p := rapid.SampledFrom(g.Profiles).Filter(mig.Profile.Plain).Draw(t, "profile")
			_, d := r.rent(t, one(Want{Model: b.Model, Kind: KindMIG, Profile: p.Name, Count: 1}))
			starts := g.Fits(occupied, p)
			require.Equal(t, len(starts) > 0, d.OK())
			if !d.OK() {
				continue
			}
			chosen := d.Members[0].Seats[0].Placement
			require.Contains(t, starts, chosen.Start)
			got, _ := g.Largest(append(slices.Clone(occupied), chosen))
			for _, s := range starts {
				other, _ := g.Largest(append(slices.Clone(occupied), mig.Placement{Start: s, Size: p.Size}))
				require.GreaterOrEqual(t, got.ComputeSlices, other.ComputeSlices)
			}
			occupied = append(occupied, chosen)
		}
	})
}

// Impossible is said exactly when the pool could not serve the request even if all of it were empty, ready, healthy and in
// the right mode.
func TestImpossibleMeansEvenWhenEmpty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := &renter{pool: testPool(drawNode(t, "n1"), drawNode(t, "n2"))}
		for range rapid.IntRange(0, 4).Draw(t, "rented") {
			r.rent(t, one(drawWant(t)))
		}
		req := one(drawWant(t))
		d, e := r.pool.Plan(req)
		if d.OK() {
			return
		}
		ideal := Snapshot{Nodes: r.pool.Snapshot().Nodes}
		for i := range ideal.Nodes {
			ideal.Nodes[i].Schedulable = true
			for j := range ideal.Nodes[i].Cards {
				ideal.Nodes[i].Cards[j].Sellable, ideal.Nodes[i].Cards[j].ModeFixed = true, false
			}
		}
		require.Equal(t, feasible(ideal, req.Offerings[0]) == 0, e.Impossible)
	})
}
