package place

import (
	"slices"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

// Plan decides where a request goes, and changes nothing. The first want of the request that fits anywhere is taken, because
// the order is the tenant's preference (and often the price's); the score only ranks places within a want. A gang takes the
// best distinct nodes: its members are alike and share no node, so the best n places are the best gang.
func (p *Pool) Plan(r Request) (Decision, Explanation) {
	for i, w := range r.Offerings {
		if !w.valid() || r.Nodes < 1 {
			continue
		}
		q := p.search(w, r)
		if places := q.places(r.Nodes); len(places) == r.Nodes {
			d := Decision{Offering: w.Offering, Want: i}
			for _, at := range places {
				d.Members = append(d.Members, q.member(at))
			}
			return d, Explanation{Fits: true, Want: i}
		}
	}
	return Decision{}, p.explain(r)
}

// place is one way to put one member on a node.
type place struct {
	node  *node
	shape *shape // of MIG
	start int    // of MIG
	score score
}

// places lists the best n places on distinct nodes; fewer when there are fewer.
func (q *search) places(n int) []place {
	var best []place
	for _, nd := range q.nodes {
		if q.times(nd) == 0 {
			continue
		}
		at := q.place(nd)
		switch {
		case n > 1 || len(best) == 0:
			best = append(best, at)
		case at.score.compare(best[0].score) < 0: // ties stay with the lower id
			best[0] = at
		}
	}
	if n > 1 {
		slices.SortStableFunc(best, func(a, b place) int { return a.score.compare(b.score) })
		best = best[:min(n, len(best))]
	}
	return best
}

// place is the best place on a node that has one.
func (q *search) place(n *node) place {
	w := q.want
	switch w.Kind {
	case KindWhole:
		uncut := 0
		for _, sc := range n.shapes {
			if sc.shape.flags&canCut == 0 && q.fit(sc.shape).ok {
				uncut += sc.n
			}
		}
		return place{node: n, score: n.scoreWhole(w, max(0, w.Count-uncut))}
	case KindMIG:
		best := place{}
		for _, sc := range n.shapes {
			f := q.fit(sc.shape)
			if !f.ok {
				continue
			}
			size := sc.shape.model.cuts[q.cuts[sc.shape.shapeKey.model]].profile.Size
			at := place{node: n, shape: sc.shape, start: f.start, score: n.scoreMIG(w, sc.shape, f, size)}
			if best.node == nil || at.score.compare(best.score) < 0 {
				best = at
			}
		}
		return best
	default:
		return place{node: n, score: n.scoreCPU(w)}
	}
}

func (q *search) member(at place) Placed {
	m := Placed{Node: at.node.ID, Resources: q.want.Resources}
	switch q.want.Kind {
	case KindWhole:
		for _, c := range q.wholeCards(at.node) {
			m.Seats = append(m.Seats, PlannedSeat{GPU: c.ID, Kind: KindWhole})
		}
	case KindMIG:
		i := slices.IndexFunc(at.node.cards, func(c *card) bool { return c.shape == at.shape })
		profile := at.shape.model.cuts[q.cuts[at.shape.shapeKey.model]].profile
		m.Seats = []PlannedSeat{{GPU: at.node.cards[i].ID, Kind: KindMIG, Profile: profile.Name,
			Placement: mig.Placement{Start: at.start, Size: profile.Size}}}
	}
	return m
}

// wholeCards picks the cards of a whole member: those that could not be cut first, then by id.
func (q *search) wholeCards(n *node) []*card {
	picked := make([]*card, 0, q.want.Count)
	for _, cuttable := range []flags{0, canCut} {
		for _, c := range n.cards {
			if len(picked) < q.want.Count && c.shape.flags&canCut == cuttable && q.fit(c.shape).ok {
				picked = append(picked, c)
			}
		}
	}
	return picked
}
