package meter

import (
	"slices"
	"time"
)

// book is one member's intervals in order; only the last may be open.
type book struct {
	entries []entry
	removed []string
	ended   bool
}

type entry struct {
	Interval
	stored  bool // it was there before this batch
	changed bool
	told    bool // the list that is being taken has told its start
}

func (b *book) open() *entry {
	if n := len(b.entries); n > 0 && b.entries[n-1].Open() {
		return &b.entries[n-1]
	}
	return nil
}

// lastEnd is when the last closed interval ended; zero without one.
func (b *book) lastEnd() time.Time {
	for i := len(b.entries) - 1; i >= 0; i-- {
		if !b.entries[i].Open() {
			return b.entries[i].End
		}
	}
	return time.Time{}
}

func (b *book) startsAt(t time.Time) bool {
	return slices.ContainsFunc(b.entries, func(e entry) bool { return e.Start.Equal(t) })
}

func (b *book) endsAt(t time.Time) bool {
	return slices.ContainsFunc(b.entries, func(e entry) bool { return !e.Open() && e.End.Equal(t) })
}

// close ends the open interval at end; an empty one is taken out, never written.
func (b *book) close(end time.Time, f Fact) {
	e := b.open()
	if end.After(e.Start) {
		e.End, e.ClosedBy, e.EndReason, e.changed = end, f.Item, f.Reason, e.stored
		return
	}
	if e.stored {
		b.removed = append(b.removed, e.ID)
	}
	b.entries = b.entries[:len(b.entries)-1]
}
