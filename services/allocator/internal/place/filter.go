package place

import "math"

// Answers of search.cuts that are no index into model.cuts.
const (
	otherModel = -1
	noProfile  = -2
	asWhole    = -3 // right model, and the want is for whole cards
)

// search is a want resolved against the pool's models, so that a node costs no look-ups.
type search struct {
	want  Want
	nodes []*node // the ones to look at, by id
	avoid map[string]bool
	cuts  []int // by model id: which cut is wanted of it
}

func (p *Pool) search(w Want, r Request) *search {
	q := &search{want: w, nodes: p.order, cuts: make([]int, len(p.models))}
	if len(r.Only) > 0 {
		q.nodes = nil
		for _, id := range sortedUnique(r.Only) {
			if n, ok := p.nodes[id]; ok {
				q.nodes = append(q.nodes, n)
			}
		}
	}
	if len(r.Avoid) > 0 {
		q.avoid = make(map[string]bool, len(r.Avoid))
		for _, id := range r.Avoid {
			q.avoid[id] = true
		}
	}
	for i, m := range p.models {
		q.cuts[i] = m.wanted(w)
	}
	return q
}

func (m *model) wanted(w Want) int {
	if m.name != w.Model {
		return otherModel
	}
	if w.Kind == KindWhole {
		return asWhole
	}
	for i, c := range m.cuts {
		if c.profile.Name == w.Profile {
			return i
		}
	}
	return noProfile
}

// open reports whether the node sells anything at all now.
func (n *node) open() bool {
	return n.Schedulable && n.listed && !n.Missing && n.Resources.covers(n.used)
}

// times is how many members of the want fit on the node one after another.
func (q *search) times(n *node) int {
	w := q.want
	if !n.open() || q.avoid != nil && q.avoid[n.ID] {
		return 0
	}
	free := n.Resources.minus(n.used)
	room := min(fold(free.CPUMilli, w.CPUMilli), fold(free.MemoryMiB, w.MemoryMiB))
	if room == 0 || w.Kind == KindCPU {
		return room
	}
	cards := 0
	for _, sc := range n.shapes {
		if times := q.fit(sc.shape).times; times > 0 {
			cards += times * sc.n
		}
	}
	return min(room, cards/w.Count)
}

// fit is what a card of that shape offers the want: for whole cards, itself once.
func (q *search) fit(s *shape) fit {
	i := q.cuts[s.shapeKey.model]
	switch {
	case i == asWhole && s.wholeFree():
		return fit{ok: true, times: 1}
	case i >= 0 && s.fits != nil:
		return s.fits[i]
	default:
		return fit{}
	}
}

// ever reports whether the node could hold a member were it empty, healthy and in the right mode.
func (q *search) ever(n *node) bool {
	w := q.want
	if !n.listed || n.Missing || q.avoid[n.ID] || !n.Resources.covers(w.Resources) {
		return false
	}
	could, cards := couldWhole, 0
	if w.Kind == KindMIG {
		could = couldCut
	}
	for _, sc := range n.shapes {
		if i := q.cuts[sc.shape.shapeKey.model]; i != otherModel && i != noProfile && sc.shape.flags&(could|missing) == could {
			cards += sc.n
		}
	}
	return cards >= w.Count
}

func fold(free, each int64) int {
	switch {
	case each == 0 && free >= 0:
		return math.MaxInt32
	case free < each:
		return 0
	default:
		return int(min(free/each, math.MaxInt32))
	}
}
