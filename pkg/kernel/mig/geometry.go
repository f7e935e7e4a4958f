package mig

import "slices"

// Geometry is how one card can be cut: what it reported, or a Board's row.
type Geometry struct {
	Units    int       `json:"units"`
	Profiles []Profile `json:"profiles,omitempty"`
}

// Profile finds a profile by name.
func (g Geometry) Profile(name string) (Profile, bool) { return find(g.Profiles, name) }

// Legal reports whether the card can hold that profile at that span, whatever else is on it.
func (g Geometry) Legal(name string, at Placement) bool {
	p, ok := g.Profile(name)
	return ok && at.Size == p.Size && at.Start >= 0 && at.End() <= g.Units && slices.Contains(p.Starts, at.Start)
}

// Fits lists the legal starts of p that overlap nothing occupied, ascending. Spans say it all: no set of legal spans passes
// the board's compute slices, so compute needs no count of its own.
func (g Geometry) Fits(occupied []Placement, p Profile) []int {
	var starts []int
	for _, s := range p.Starts {
		if g.free(occupied, Placement{s, p.Size}) {
			starts = append(starts, s)
		}
	}
	slices.Sort(starts)
	return starts
}

// Largest is the largest plain profile that still fits: most compute slices, then the longest span.
func (g Geometry) Largest(occupied []Placement) (Profile, bool) {
	var best Profile
	found := false
	for _, p := range g.Profiles {
		if !p.Plain() || found && !p.larger(best) {
			continue
		}
		if slices.ContainsFunc(p.Starts, func(s int) bool { return g.free(occupied, Placement{s, p.Size}) }) {
			best, found = p, true
		}
	}
	return best, found
}

func (g Geometry) free(occupied []Placement, at Placement) bool {
	return at.Start >= 0 && at.End() <= g.Units && !slices.ContainsFunc(occupied, at.Overlaps)
}
