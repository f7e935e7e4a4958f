package meter

import (
	"maps"
	"slices"
	"time"
)

// Ledger is the state of the members that a batch of facts is about.
type Ledger struct {
	pos     int64
	newID   func() string
	books   map[string]*book
	ends    []End
	refused []Refusal
}

// New returns a ledger into which the feed has been applied up to pos. newID names new
// intervals.
func New(pos int64, newID func() string) *Ledger {
	return &Ledger{pos: pos, newID: newID, books: map[string]*book{}}
}

// Load brings in what is stored about the members of the coming facts.
func (l *Ledger) Load(intervals []Interval, ended []string) {
	for _, i := range intervals {
		b := l.book(i.Member)
		b.entries = append(b.entries, entry{Interval: i, stored: true})
	}
	for _, b := range l.books {
		slices.SortFunc(b.entries, func(x, y entry) int { return x.Start.Compare(y.Start) })
	}
	for _, m := range ended {
		l.book(m).ended = true
	}
}

func (l *Ledger) book(member string) *book {
	b, ok := l.books[member]
	if !ok {
		b = &book{}
		l.books[member] = b
	}
	return b
}

// Apply takes the next fact of the feed. One that was applied before changes nothing.
func (l *Ledger) Apply(f Fact) {
	if f.Pos <= l.pos {
		return
	}
	l.pos = f.Pos
	b := l.book(f.Member)
	if !f.From.IsZero() {
		l.open(b, f)
	}
	if !f.Until.IsZero() {
		l.close(b, f)
	}
	if f.Ended {
		l.end(b, f)
	}
}

func (l *Ledger) open(b *book, f Fact) {
	start := f.From.Truncate(time.Millisecond)
	switch {
	case b.startsAt(start):
	case b.ended:
		l.refuse(f, AfterEnd, start)
	case b.open() != nil:
		l.refuse(f, AlreadyOpen, start)
	case start.Before(b.lastEnd()):
		l.refuse(f, Overlap, start)
	default:
		b.entries = append(b.entries, entry{Interval: Interval{ID: l.newID(), Start: start, OpenedBy: f.Item, Pin: f.Pin}})
	}
}

func (l *Ledger) close(b *book, f Fact) {
	end := f.Until.Truncate(time.Millisecond)
	if b.open() != nil {
		b.close(end, f)
		return
	}
	// The meter stands already. A later bound is no news.
	if end.Before(b.lastEnd()) && !b.endsAt(end) {
		l.refuse(f, ClosedIsFinal, end)
	}
}

// end makes the member's end final. Its meter never outlives it.
func (l *Ledger) end(b *book, f Fact) {
	if b.ended {
		return
	}
	at := f.At.Truncate(time.Millisecond)
	if b.open() != nil {
		l.refuse(f, EndedWithoutEnd, at)
		b.close(at, f)
	}
	if !f.Until.IsZero() {
		at = f.Until.Truncate(time.Millisecond)
	}
	b.ended = true
	l.ends = append(l.ends, End{Member: f.Member, Org: f.Org, Instance: f.Instance, At: at, Item: f.Item, Reason: f.Reason})
}

func (l *Ledger) refuse(f Fact, c Code, at time.Time) {
	l.refused = append(l.refused, Refusal{Item: f.Item, Member: f.Member, Code: c, Detail: at.UTC().Format(time.RFC3339Nano), At: f.At})
}

// Delta is what the facts changed. Its order depends on nothing but the facts.
func (l *Ledger) Delta() Delta {
	d := Delta{Pos: l.pos, Ends: l.ends, Refused: l.refused}
	for _, member := range slices.Sorted(maps.Keys(l.books)) {
		b := l.books[member]
		d.Remove = append(d.Remove, b.removed...)
		for _, e := range b.entries {
			switch {
			case !e.stored:
				d.Insert = append(d.Insert, e.Interval)
			case e.changed:
				d.Close = append(d.Close, e.Interval)
			}
		}
	}
	return d
}
