package place

import (
	"cmp"
	"slices"
)

// Reason says why one card (for CPU wants: one node) did not take a want.
type Reason string

const (
	ReasonInvalid     Reason = "invalid_request"
	ReasonModel       Reason = "model_mismatch"
	ReasonNoHardware  Reason = "no_such_offering_hardware" // right model, but it reports no such profile
	ReasonPolicy      Reason = "policy"
	ReasonReconfigure Reason = "needs_reconfigure" // policy allows it, the mode the card is in does not
	ReasonUnhealthy   Reason = "card_unhealthy"
	ReasonShrunk      Reason = "shrunk" // card or node came back smaller than what is used
	ReasonMissing     Reason = "missing"
	ReasonNotReady    Reason = "node_not_ready"
	ReasonCordoned    Reason = "cordoned"
	ReasonAffinity    Reason = "affinity"
	ReasonBusy        Reason = "cards_busy"
	ReasonNoStart     Reason = "no_legal_start" // enough free units, at no start the profile may have
	ReasonTooFew      Reason = "too_few_on_node"
	ReasonCPU         Reason = "cpu"
	ReasonMemory      Reason = "memory"
	ReasonGang        Reason = "too_few_nodes" // would take a member, but too few nodes would
)

// Explanation says what Plan found, as data.
type Explanation struct {
	Fits       bool      `json:"fits"`
	Want       int       `json:"want"`       // the one taken, when it fits
	Impossible bool      `json:"impossible"` // no want could ever fit, even on an empty pool
	Blocked    []Blocked `json:"blocked,omitempty"`
}

// Blocked says why one want did not fit.
type Blocked struct {
	Offering   string         `json:"offering"`
	Impossible bool           `json:"impossible"`
	Nodes      int            `json:"nodes"`   // that would take a member now; fewer than the request has members
	Reasons    map[Reason]int `json:"reasons"` // how many cards each reason stopped; of several, a card counts for the first
}

// Main is the reason that stopped most cards, other models aside unless there is nothing else.
func (b Blocked) Main() Reason {
	reasons := make([]Reason, 0, len(b.Reasons))
	for r := range b.Reasons {
		reasons = append(reasons, r)
	}
	if len(reasons) == 0 {
		return ReasonNoHardware
	}
	return slices.MinFunc(reasons, func(x, y Reason) int {
		return cmp.Or(boolInt(x == ReasonModel)-boolInt(y == ReasonModel), cmp.Compare(b.Reasons[y], b.Reasons[x]), cmp.Compare(x, y))
	})
}

func (p *Pool) explain(r Request) Explanation {
	e := Explanation{Impossible: true}
	for _, w := range r.Offerings {
		b := Blocked{Offering: w.Offering, Impossible: true, Reasons: map[Reason]int{}}
		if !w.valid() || r.Nodes < 1 {
			b.Reasons[ReasonInvalid] = 1
		} else {
			p.search(w, r).explain(&b, p.order, r.Nodes)
		}
		e.Impossible = e.Impossible && b.Impossible
		e.Blocked = append(e.Blocked, b)
	}
	return e
}

func (q *search) explain(b *Blocked, all []*node, members int) {
	ever, next := 0, 0
	for _, n := range all {
		asked := next < len(q.nodes) && q.nodes[next] == n
		if asked {
			next++
			ever += boolInt(q.ever(n))
		}
		if q.want.Kind == KindCPU {
			b.note(q.blocksNode(n, asked), 1)
			continue
		}
		q.explainCards(b, n, asked)
	}
	b.Impossible = ever < members
}

func (q *search) explainCards(b *Blocked, n *node, asked bool) {
	whole, fitting := q.blocksNode(n, asked), 0
	for _, sc := range n.shapes {
		s := sc.shape
		switch why := q.blocksCard(s); {
		case q.cuts[s.shapeKey.model] == otherModel:
			b.Reasons[ReasonModel] += sc.n
		case whole != "" && whole != ReasonCPU && whole != ReasonMemory:
			b.Reasons[whole] += sc.n
		case why != "":
			b.Reasons[why] += sc.n
		default:
			fitting += sc.n
		}
	}
	switch {
	case fitting == 0:
	case fitting < q.want.Count:
		b.Reasons[ReasonTooFew] += fitting
	default:
		b.note(whole, fitting)
	}
}

// note counts what stopped a node, or that nothing did.
func (b *Blocked) note(why Reason, n int) {
	if why == "" {
		b.Nodes++
		why = ReasonGang
	}
	b.Reasons[why] += n
}

func (q *search) blocksNode(n *node, asked bool) Reason {
	free := n.Resources.minus(n.used)
	switch {
	case !asked || q.avoid[n.ID]:
		return ReasonAffinity
	case !n.listed || n.Missing:
		return ReasonMissing
	case n.Cordoned:
		return ReasonCordoned
	case !n.Schedulable:
		return ReasonNotReady
	case !n.Resources.covers(n.used):
		return ReasonShrunk
	case free.CPUMilli < q.want.CPUMilli:
		return ReasonCPU
	case free.MemoryMiB < q.want.MemoryMiB:
		return ReasonMemory
	default:
		return ""
	}
}

func (q *search) blocksCard(s *shape) Reason {
	can, could := canWhole, couldWhole
	if q.want.Kind == KindMIG {
		can, could = canCut, couldCut
	}
	i := q.cuts[s.shapeKey.model]
	switch {
	case s.flags&missing != 0:
		return ReasonMissing
	case i == noProfile:
		return ReasonNoHardware
	case s.flags&could == 0:
		return ReasonPolicy
	case s.flags&unhealthy != 0:
		return ReasonUnhealthy
	case s.flags&shrunk != 0:
		return ReasonShrunk
	case s.flags&can == 0:
		return ReasonReconfigure
	case q.fit(s).ok:
		return ""
	case i >= 0 && s.free >= s.model.cuts[i].profile.Size:
		return ReasonNoStart
	default:
		return ReasonBusy
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
