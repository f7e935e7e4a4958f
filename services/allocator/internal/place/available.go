package place

import "slices"

// Available is how many single members of the want would be placed one after another right now, up to limit. It is what
// repeating Plan and Apply gives: a member sits on one node, so nodes fill independently, and so do the cards of a node.
func (p *Pool) Available(w Want, limit int) int {
	if !w.valid() {
		return 0
	}
	q, total := p.search(w, Request{}), 0
	for _, n := range q.nodes {
		if total >= limit {
			break
		}
		total += min(q.times(n), limit-total)
	}
	return total
}

// AfterReconfigure is how many empty, healthy cards would serve the want only once their MIG mode is changed. What is
// available now is not in it, nor what the node's vCPU and RAM would then allow.
func (p *Pool) AfterReconfigure(w Want) int {
	if !w.valid() || w.Kind == KindCPU {
		return 0
	}
	q, total := p.search(w, Request{}), 0
	for _, n := range q.nodes {
		if !n.open() {
			continue
		}
		for _, sc := range n.shapes {
			if sc.shape.occ == 0 && sc.shape.flags&held == 0 && q.cuts[sc.shape.shapeKey.model] != otherModel && q.blocksCard(sc.shape) == ReasonReconfigure {
				total += sc.n
			}
		}
	}
	return total
}

func sortedUnique(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
