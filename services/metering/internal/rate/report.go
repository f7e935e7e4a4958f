package rate

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"
)

// Query is what a report is about.
type Query struct {
	From, To time.Time
	Step     Step
	Zone     *time.Location
	By       Grouping
	After    *Key // only rows after it
	Limit    int
}

// Grouping says what rows tell apart.
type Grouping struct{ Project, Offering, Instance bool }

// Key orders rows and names one of them.
type Key struct {
	Start    time.Time
	Currency string
	Group
}

// Row is what one group used in one period, cut to the report's bounds.
type Row struct {
	Key
	End  time.Time
	Open bool // a running meter is part of it
	Amount
}

// Compare orders by time, then by group.
func (k Key) Compare(o Key) int {
	return cmp.Or(k.Start.Compare(o.Start), cmp.Compare(k.Currency, o.Currency), cmp.Compare(k.Project, o.Project), cmp.Compare(k.Offering, o.Offering), cmp.Compare(k.Instance, o.Instance))
}

// Resume is the first instant a report must read: what lies before belongs to rows it skips.
func (q Query) Resume() time.Time {
	if q.After == nil || q.After.Start.Before(q.From) {
		return q.From
	}
	return q.After.Start
}

// Rows reports on charges, which come in the order of their starts. It reads no further
// than the page needs; more says whether there is another one.
func Rows(q Query, charges iter.Seq2[Charge, error]) (rows []Row, more bool, err error) {
	next, stop := iter.Pull2(charges)
	defer stop()
	s := sweep{q: q, next: next}
	if err := s.pull(); err != nil {
		return nil, false, err
	}
	for at := q.Step.Floor(q.Resume(), q.Zone); ; {
		if len(s.active) == 0 {
			if s.head == nil {
				return rows, false, nil
			}
			if s.head.Start.After(at) {
				at = q.Step.Floor(s.head.Start, q.Zone)
			}
		}
		if !at.Before(q.To) {
			return rows, false, nil
		}
		end := q.Step.Next(at, q.Zone)
		found, err := s.period(later(at, q.From), earlier(end, q.To))
		if err != nil {
			return nil, false, err
		}
		for _, r := range found {
			if q.After != nil && r.Compare(*q.After) <= 0 {
				continue
			}
			if len(rows) == q.Limit {
				return rows, true, nil
			}
			rows = append(rows, r)
		}
		at = end
	}
}

// sweep walks through time with the charges that overlap the current period.
type sweep struct {
	q      Query
	next   func() (Charge, error, bool)
	head   *Charge // the next charge, not yet active
	active []Charge
}

func (s *sweep) pull() error {
	c, err, ok := s.next()
	s.head = nil
	if ok && err == nil {
		s.head = &c
	}
	return err
}

// period is the rows of [from, to), in order.
func (s *sweep) period(from, to time.Time) ([]Row, error) {
	for s.head != nil && s.head.Start.Before(to) {
		s.active = append(s.active, *s.head)
		if err := s.pull(); err != nil {
			return nil, err
		}
	}
	rows := map[Key]*Row{}
	for _, c := range s.active {
		a := c.Between(from, to)
		if a.Ms == 0 {
			continue
		}
		k := Key{from, c.Currency, s.q.By.of(c.Group)}
		r, ok := rows[k]
		if !ok {
			r = &Row{Key: k, End: to}
			rows[k] = r
		}
		r.Amount, r.Open = r.Add(a), r.Open || c.Open && !c.End.After(to)
	}
	s.active = slices.DeleteFunc(s.active, func(c Charge) bool { return !c.End.After(to) })
	out := make([]Row, 0, len(rows))
	for _, k := range slices.SortedFunc(maps.Keys(rows), Key.Compare) {
		out = append(out, *rows[k])
	}
	return out, nil
}

func (g Grouping) of(all Group) (some Group) {
	if g.Project {
		some.Project = all.Project
	}
	if g.Offering {
		some.Offering = all.Offering
	}
	if g.Instance {
		some.Instance = all.Instance
	}
	return some
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
