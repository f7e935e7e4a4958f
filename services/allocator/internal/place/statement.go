package place

import "fmt"

// IDs names one member of a decision and its seats, in the decision's order. They are minted before.
type IDs struct {
	Member string   `json:"member"`
	Seats  []string `json:"seats,omitempty"`
}

// Apply seats a decision, all of it or nothing. It refuses one that no longer fits, with ErrStale.
func (p *Pool) Apply(d Decision, ids []IDs) error {
	if len(ids) != len(d.Members) {
		return fmt.Errorf("%d names for %d members: %w", len(ids), len(d.Members), ErrStale)
	}
	for i, m := range d.Members {
		if err := p.applyMember(m, ids[i]); err != nil {
			p.Undo(ids[:i])
			return fmt.Errorf("member %s on %s: %w", ids[i].Member, m.Node, err)
		}
	}
	return nil
}

// Undo takes applied members off again.
func (p *Pool) Undo(ids []IDs) {
	for _, id := range ids {
		p.FreeMember(id.Member)
	}
}

func (p *Pool) applyMember(m Placed, ids IDs) error {
	n, ok := p.nodes[m.Node]
	if !ok || !n.open() || !n.Resources.covers(n.used.plus(m.Resources)) || len(ids.Seats) != len(m.Seats) {
		return ErrStale
	}
	if _, ok := p.members[ids.Member]; ok {
		return ErrDuplicate
	}
	for _, s := range m.Seats {
		if c, ok := p.cards[s.GPU]; !ok || c.node != n || !c.shape.takes(s) {
			return ErrStale
		}
	}
	p.PutMember(MemberRow{ID: ids.Member, Node: m.Node, Resources: m.Resources})
	for i, s := range m.Seats {
		row := SeatRow{ID: ids.Seats[i], Member: ids.Member, Node: m.Node, GPU: s.GPU, Kind: s.Kind, Profile: s.Profile, Placement: s.Placement}
		if err := p.Seat(row); err != nil {
			p.FreeMember(ids.Member)
			return err
		}
	}
	return nil
}

func (s *shape) takes(seat PlannedSeat) bool {
	if seat.Kind == KindWhole {
		return s.wholeFree()
	}
	return s.fits != nil && s.model.geometry.Legal(seat.Profile, seat.Placement) && s.occ&maskOf(seat.Placement) == 0
}

// Statement is a batch of changes made to the pool at once and kept or undone later: plan a whole group commit, or a what-if,
// then Commit or Discard. While it is open, Plan sees its changes, and seats and members change through it alone; facts of
// nodes may be put meanwhile and are not undone.
type Statement struct {
	pool *Pool
	done []change
}

// change is undone by undo in reverse order.
type change struct {
	seat   SeatRow
	member MemberRow
	freed  bool // taken off; else put on
}

// Begin opens a statement. One at a time, ended by Commit or Discard.
func (p *Pool) Begin() *Statement {
	p.held = true
	return &Statement{pool: p}
}

// Apply is Pool.Apply, undoable.
func (s *Statement) Apply(d Decision, ids []IDs) error {
	if err := s.pool.Apply(d, ids); err != nil {
		return err
	}
	for _, id := range ids {
		s.done = append(s.done, change{member: s.pool.members[id.Member].MemberRow})
	}
	return nil
}

// Free is Pool.Free, undoable.
func (s *Statement) Free(seatID string) {
	if row, ok := s.pool.seats[seatID]; ok {
		s.pool.Free(seatID)
		s.done = append(s.done, change{seat: row, freed: true})
	}
}

// FreeMember is Pool.FreeMember, undoable.
func (s *Statement) FreeMember(memberID string) {
	m, ok := s.pool.members[memberID]
	if !ok {
		return
	}
	for len(m.seats) > 0 {
		s.Free(m.seats[0])
	}
	if m.put {
		row := m.MemberRow
		s.pool.FreeMember(memberID)
		s.done = append(s.done, change{member: row, freed: true})
	}
}

// Checkpoint marks the present state for Rollback.
func (s *Statement) Checkpoint() int { return len(s.done) }

// Rollback undoes what was done since the checkpoint.
func (s *Statement) Rollback(checkpoint int) {
	for i := len(s.done) - 1; i >= checkpoint; i-- {
		switch c := s.done[i]; {
		case !c.freed:
			s.pool.FreeMember(c.member.ID)
		case c.seat.ID != "":
			s.pool.seat(c.seat)
		default:
			s.pool.PutMember(c.member)
		}
	}
	s.done = s.done[:checkpoint]
}

// Commit keeps everything and ends the statement.
func (s *Statement) Commit() {
	s.done = nil
	s.pool.release()
}

// Discard undoes everything and ends the statement.
func (s *Statement) Discard() {
	s.Rollback(0)
	s.pool.release()
}
