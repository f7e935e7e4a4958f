package place

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

// maxUnits is what an occupancy mask holds; a card that reports more is never cut.
const maxUnits = 64

// model is a card model with one geometry: cards of it are alike but for their state.
type model struct {
	id       int // index into Pool.models
	name     string
	geometry mig.Geometry
	cuts     []cut // what is sold of it, largest first
}

type cut struct {
	profile mig.Profile
	spans   []span // legal, by start
}

type span struct {
	start int
	mask  uint64
}

// shapeKey is the state class of a card. Decisions look at shapes; cards of one shape differ only by node and id.
type shapeKey struct {
	model int
	occ   uint64
	flags flags
}

type flags uint16

const (
	sells      flags = 1 << iota // healthy, reported, not shrunk
	canWhole                     // in the mode it is in
	canCut                       // in the mode it is in
	couldWhole                   // by policy, after a mode change
	couldCut                     // by policy, after a mode change
	held                         // held whole
	unhealthy
	shrunk
	missing
)

// shape is a state class with all that Plan asks of it, computed once when the first card takes the shape.
type shape struct {
	shapeKey
	model *model
	refs  int
	free  int   // units
	share int64 // thousandths of the card that are free
	fits  []fit // per cut of the model; nil when nothing may be cut now
}

// fit is the best place for one more slice of a cut.
type fit struct {
	ok    bool
	start int
	loss  int64 // what the card can no longer take afterwards, largest profile in the highest digit
	times int   // how many fit one after another
}

func newModel(id int, name string, g mig.Geometry) *model {
	m := &model{id: id, name: name, geometry: g}
	if g.Units > maxUnits {
		return m
	}
	for _, p := range g.Profiles {
		c := cut{profile: p}
		for _, start := range p.Starts {
			if p.Size > 0 && start >= 0 && start+p.Size <= g.Units {
				c.spans = append(c.spans, span{start, maskOf(mig.Placement{Start: start, Size: p.Size})})
			}
		}
		slices.SortFunc(c.spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
		if p.Plain() && len(c.spans) > 0 {
			m.cuts = append(m.cuts, c)
		}
	}
	slices.SortStableFunc(m.cuts, func(a, b cut) int {
		return cmp.Or(cmp.Compare(b.profile.ComputeSlices, a.profile.ComputeSlices), cmp.Compare(b.profile.Size, a.profile.Size))
	})
	return m
}

func newShape(m *model, k shapeKey) *shape {
	s := &shape{shapeKey: k, model: m, free: m.geometry.Units - bits.OnesCount64(k.occ), share: 1000}
	switch {
	case k.flags&held != 0:
		s.free, s.share = 0, 0
	case m.geometry.Units > 0:
		s.free = max(s.free, 0)
		s.share = int64(1000 * s.free / m.geometry.Units)
	}
	if k.flags&sells == 0 || k.flags&canCut == 0 || k.flags&held != 0 {
		return s
	}
	before := m.value(k.occ)
	s.fits = make([]fit, len(m.cuts))
	for i := range m.cuts {
		f := &s.fits[i]
		for occ := k.occ; ; f.times++ {
			best, ok := m.best(occ, i)
			if !ok {
				break
			}
			occ |= best.mask
			if !f.ok {
				f.ok, f.start, f.loss = true, best.start, before-m.value(occ)
			}
		}
	}
	return s
}

// value packs how many legal starts are left of each cut, largest profile in the highest digit. Taking a span can only lower
// digits, so the difference of two values compares losses from the largest profile down.
func (m *model) value(occ uint64) int64 {
	const digits, top = 15, 15
	var v int64
	for i := range min(len(m.cuts), digits) {
		n := int64(0)
		for _, s := range m.cuts[i].spans {
			if s.mask&occ == 0 {
				n++
			}
		}
		v |= min(n, top) << (4 * (digits - 1 - i))
	}
	return v
}

// best is the free span of a cut after which the card keeps the most: first the largest profiles, then the smaller ones.
func (m *model) best(occ uint64, i int) (span, bool) {
	var best span
	left := int64(-1)
	for _, s := range m.cuts[i].spans {
		if s.mask&occ != 0 {
			continue
		}
		if v := m.value(occ | s.mask); v > left {
			best, left = s, v
		}
	}
	return best, left >= 0
}

func (s *shape) wholeFree() bool {
	return s.flags&(sells|canWhole|held) == sells|canWhole && s.occ == 0
}

func maskOf(at mig.Placement) uint64 {
	if at.Size <= 0 || at.Start < 0 || at.Start >= maxUnits {
		return 0
	}
	return (1<<min(at.Size, maxUnits) - 1) << at.Start
}
