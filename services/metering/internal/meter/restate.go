package meter

import "time"

// Restate takes the facts of a list, read because the feed could not be followed on: the
// allocator was restored from a backup, or we were away for longer than it keeps history. A
// list tells what happened to each member in order, mostly again and perhaps with holes, so
// nothing is concluded from what it does not say and nothing it repeats counts twice. asOf
// is how far the feed had been applied: until then the meters we hold open are known to
// have run.
func (l *Ledger) Restate(facts []Fact, asOf time.Time) {
	for _, f := range facts {
		b := l.book(f.Member)
		if !f.From.IsZero() {
			l.reopen(b, f, asOf)
		}
		if !f.Until.IsZero() {
			l.reclose(b, f)
		}
		if f.Ended {
			l.end(b, f)
		}
	}
	l.pos = 0 // the positions of another incarnation mean nothing here
}

// reopen is open, but an open interval that starts earlier must have ended unseen.
func (l *Ledger) reopen(b *book, f Fact, asOf time.Time) {
	if b.ended {
		return // all of its history is known, and final
	}
	start := f.From.Truncate(time.Millisecond)
	if e := b.open(); e != nil && start.After(e.Start) {
		known := asOf.Truncate(time.Millisecond)
		if known.After(start) {
			known = start
		}
		l.refuse(f, GapOfUnknownSize, known)
		b.close(known, f)
	}
	if b.open() == nil && start.Before(b.lastEnd()) {
		return // told before
	}
	if b.open() == nil {
		l.open(b, f)
	}
	if e := b.open(); e != nil && e.Start.Equal(start) {
		e.told = true
	}
}

// reclose ends the interval the fact is about: the one it also starts, or else the open one.
// An end before the start of what we hold open, told before that start, is no news.
func (l *Ledger) reclose(b *book, f Fact) {
	e := b.open()
	switch {
	case e == nil:
	case !f.From.IsZero() && !e.Start.Equal(f.From.Truncate(time.Millisecond)):
	case f.From.IsZero() && !f.Ended && !e.told && !f.Until.After(e.Start):
	default:
		b.close(f.Until.Truncate(time.Millisecond), f)
	}
}
