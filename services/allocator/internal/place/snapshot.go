package place

import (
	"cmp"
	"errors"
	"slices"
)

// Snapshot is a pool as data, ordered by id: enough to replay any decision offline.
type Snapshot struct {
	Nodes   []Node      `json:"nodes"`
	Members []MemberRow `json:"members,omitempty"`
	Seats   []SeatRow   `json:"seats,omitempty"`
}

// Snapshot copies the pool, but for the geometries, which are shared and must not be changed. Cards and nodes known only from a seat are not in it: the seat says where it is.
func (p *Pool) Snapshot() Snapshot {
	var s Snapshot
	for _, n := range p.order {
		if !n.listed {
			continue
		}
		facts := n.Node
		facts.Shrunk = facts.Shrunk && !facts.Resources.covers(n.used)
		for _, c := range n.cards {
			if c.listed {
				card := c.Card
				card.Shrunk = card.Shrunk && c.overcut()
				facts.Cards = append(facts.Cards, card)
			}
		}
		s.Nodes = append(s.Nodes, facts)
	}
	for _, m := range p.members {
		if m.put {
			s.Members = append(s.Members, m.MemberRow)
		}
	}
	for _, row := range p.seats {
		s.Seats = append(s.Seats, row)
	}
	slices.SortFunc(s.Members, func(a, b MemberRow) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Seats, func(a, b SeatRow) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

// Load replaces the pool by a snapshot. When rows contradict each other the pool stays as it was and every contradiction is
// returned.
func (p *Pool) Load(s Snapshot) error {
	fresh := NewPool()
	for _, n := range s.Nodes {
		fresh.PutNode(n)
	}
	var errs []error
	for _, m := range s.Members {
		fresh.PutMember(m)
	}
	for _, row := range s.Seats {
		errs = append(errs, fresh.Seat(row))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, n := range s.Nodes { // the marks again: there was nothing seated the first time
		nd := fresh.nodes[n.ID]
		nd.Shrunk = n.Shrunk
		for _, c := range n.Cards {
			fresh.cards[c.ID].Shrunk = c.Shrunk
		}
	}
	*p = *fresh
	return nil
}

// Plan replays a decision from a snapshot.
func Plan(s Snapshot, r Request) (Decision, Explanation, error) {
	p := NewPool()
	if err := p.Load(s); err != nil {
		return Decision{}, Explanation{}, err
	}
	d, e := p.Plan(r)
	return d, e, nil
}
