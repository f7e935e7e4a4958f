package place

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

// Refusals of the pool. Facts from the database never meet them; a decision made on an older pool may.
var (
	ErrOccupied  = errors.New("the span is taken")
	ErrDuplicate = errors.New("the id is in use")
	ErrStale     = errors.New("the decision no longer fits the pool")
)

// SeatRow is one slice of a card, held by a member.
type SeatRow struct {
	ID        string        `json:"id"`
	Member    string        `json:"member"`
	Node      string        `json:"node"`
	GPU       string        `json:"gpu"`
	Kind      Kind          `json:"kind"`
	Profile   string        `json:"profile,omitempty"`
	Placement mig.Placement `json:"placement,omitzero"` // whole: unbounded, whatever it says
}

// MemberRow is what a member takes of its node. It is counted once per member, apart from the seats: a member may have
// several, or none.
type MemberRow struct {
	ID   string `json:"id"`
	Node string `json:"node"`
	Resources
}

type member struct {
	MemberRow
	put   bool
	seats []string
}

// Seat occupies a span. A seat is a fact, so a card or node the pool does not know is accepted: it then sells nothing.
func (p *Pool) Seat(row SeatRow) error {
	if _, ok := p.seats[row.ID]; ok {
		return fmt.Errorf("seat %s: %w", row.ID, ErrDuplicate)
	}
	if c, ok := p.cards[row.GPU]; ok {
		for _, s := range c.seats {
			if s.overlaps(row) {
				return fmt.Errorf("seat %s on %s, held by %s: %w", row.ID, row.GPU, s.ID, ErrOccupied)
			}
		}
	}
	p.seat(row)
	return nil
}

func (p *Pool) seat(row SeatRow) {
	c, ok := p.cards[row.GPU]
	if !ok {
		c = p.card(p.node(row.Node), row.GPU)
	}
	c.seats = append(c.seats, row)
	c.node.seated++
	p.seats[row.ID] = row
	m := p.member(row.Member)
	m.seats = append(m.seats, row.ID)
	p.summarize(c.node)
}

// Free gives a span back. The member's vCPU and RAM stay counted until FreeMember.
func (p *Pool) Free(seatID string) {
	row, ok := p.seats[seatID]
	if !ok {
		return
	}
	delete(p.seats, seatID)
	m := p.members[row.Member]
	m.seats = slices.DeleteFunc(m.seats, func(id string) bool { return id == seatID })
	p.tidy(m)
	c := p.cards[row.GPU]
	c.seats = slices.DeleteFunc(c.seats, func(s SeatRow) bool { return s.ID == seatID })
	c.node.seated--
	p.leftover(c.node)
}

// PutMember counts a member's vCPU and RAM on its node, in place of what was counted for it before.
func (p *Pool) PutMember(row MemberRow) {
	m := p.member(row.ID)
	if m.put {
		p.uncount(m)
	}
	m.MemberRow, m.put = row, true
	n := p.node(row.Node)
	n.used = n.used.plus(row.Resources)
	n.seated++
}

// FreeMember gives back the member's vCPU and RAM, and every seat it still holds.
func (p *Pool) FreeMember(memberID string) {
	m, ok := p.members[memberID]
	if !ok {
		return
	}
	for _, id := range slices.Clone(m.seats) {
		p.Free(id)
	}
	if m.put {
		p.uncount(m)
		p.tidy(m)
	}
}

func (p *Pool) uncount(m *member) {
	m.put = false
	n := p.nodes[m.Node]
	n.used = n.used.minus(m.Resources)
	n.seated--
	p.leftover(n)
}

func (p *Pool) member(id string) *member {
	m, ok := p.members[id]
	if !ok {
		m = &member{MemberRow: MemberRow{ID: id}}
		p.members[id] = m
	}
	return m
}

func (p *Pool) tidy(m *member) {
	if !m.put && len(m.seats) == 0 {
		delete(p.members, m.ID)
	}
}

// leftover closes a change that took something off a node: what only stayed for it goes.
func (p *Pool) leftover(n *node) {
	if p.held {
		p.stale = append(p.stale, n)
		p.summarize(n)
		return
	}
	for i := len(n.cards) - 1; i >= 0; i-- {
		if c := n.cards[i]; len(c.seats) == 0 && (n.Missing || c.Missing || !c.listed) {
			p.dropCard(c)
		}
	}
	n.listed = n.listed && !(n.Missing && n.seated == 0)
	p.summarize(n)
	p.forget(n)
}

// release ends the hold of a statement.
func (p *Pool) release() {
	stale := p.stale
	p.held, p.stale = false, nil
	for _, n := range stale {
		if p.nodes[n.ID] == n {
			p.leftover(n)
		}
	}
}

func (s SeatRow) overlaps(o SeatRow) bool {
	return s.Kind == KindWhole || o.Kind == KindWhole || s.Placement.Overlaps(o.Placement)
}
