package meter

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// history draws what really happened to a few members: the facts in the feed's order, and
// the intervals they amount to.
func history(t *rapid.T) (facts []Fact, expected map[string][]Interval) {
	expected = map[string][]Interval{}
	var queues [][]Fact
	for m := range rapid.IntRange(1, 4).Draw(t, "members") {
		member := fmt.Sprintf("mem_%d", m)
		pin := Pin{Org: "org_a", Instance: "ins_" + member, Member: member, PerHour: 1, Currency: "CNY", Cards: 1}
		now := rapid.Int64Range(0, 50).Draw(t, "assigned")
		queue := []Fact{{Pin: pin, At: at(now)}} // assigned: says nothing about the meter
		runs := rapid.IntRange(0, 4).Draw(t, "runs")
		for r := range runs {
			from := now + rapid.Int64Range(0, 20).Draw(t, "gap")
			until := from + rapid.Int64Range(-3, 60).Draw(t, "length") // a stop asked before the start makes it empty
			last := r == runs-1
			open := Fact{Pin: pin, At: at(from), From: at(from)}
			shut := Fact{Pin: pin, At: at(max(from, until)), Until: at(until), Ended: last && rapid.Bool().Draw(t, "final"), Reason: "user"}
			switch {
			case last && !shut.Ended && rapid.Bool().Draw(t, "running"):
				queue = append(queue, open)
				expected[member] = append(expected[member], Interval{Start: at(from)})
			case rapid.Bool().Draw(t, "short"):
				shut.From = open.From
				queue = append(queue, shut)
			default:
				queue = append(queue, open, shut)
			}
			if !shut.Ended && queue[len(queue)-1].Until.IsZero() {
				break
			}
			if until > from {
				expected[member] = append(expected[member], Interval{Start: at(from), End: at(until)})
			}
			now = max(now, from, until)
		}
		queues = append(queues, queue)
	}
	for len(queues) > 0 {
		i := rapid.IntRange(0, len(queues)-1).Draw(t, "next")
		f := queues[i][0]
		f.Pos, f.Item = int64(len(facts)+1), fmt.Sprintf("itm_%d", len(facts)+1)
		facts = append(facts, f)
		if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
			queues = slices.Delete(queues, i, i+1)
		}
	}
	return facts, expected
}

// However the feed is cut into batches and however often parts of it come again, the
// intervals are what happened.
func TestIntervalsAreWhatHappened(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		facts, expected := history(t)
		s := newStore(t)
		for applied := 0; applied < len(facts); {
			n := rapid.IntRange(1, len(facts)-applied).Draw(t, "batch")
			again := rapid.IntRange(0, applied).Draw(t, "again")
			s.apply(append(slices.Clone(facts[again:applied]), facts[applied:applied+n]...)...)
			applied += n
			if rapid.Bool().Draw(t, "duplicate") {
				k := rapid.IntRange(0, applied-1).Draw(t, "which")
				s.apply(facts[k])
			}
		}
		require.Empty(t, s.refused)
		requireSame(t, expected, s)
	})
}

// A list after the feed, with the whole history or parts of it, adds and takes nothing.
func TestRestatingWhatIsKnownChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		facts, expected := history(t)
		s := newStore(t)
		s.apply(facts...)
		list := facts
		if rapid.Bool().Draw(t, "only some") {
			// A run that turned out empty left no trace, so half of it cannot be told from news.
			list = slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool { return emptyRun(facts, f) || rapid.Bool().Draw(t, "left out") })
		}
		s.restate(at(1<<40), list...)
		require.Empty(t, s.refused)
		requireSame(t, expected, s)
	})
}

// However much of the feed was missed, the list makes up for it.
func TestAListMakesUpForWhatWasMissed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		facts, expected := history(t)
		s := newStore(t)
		s.apply(facts[:rapid.IntRange(0, len(facts)).Draw(t, "seen")]...)
		s.restate(at(1<<40), facts...)
		require.Empty(t, s.refused)
		requireSame(t, expected, s)
	})
}

// emptyRun reports whether f opens a run that facts end at or before its start.
func emptyRun(facts []Fact, f Fact) bool {
	if f.From.IsZero() {
		return false
	}
	for _, g := range facts[f.Pos-1:] {
		if g.Member == f.Member && !g.Until.IsZero() {
			return !g.Until.After(f.From)
		}
	}
	return false
}

func requireSame(t require.TestingT, expected map[string][]Interval, s *store) {
	var want, got time.Duration
	asOf := at(1 << 20)
	for m, all := range expected {
		have := s.of(m)
		require.Len(t, have, len(all), m)
		for k := range all {
			require.Equal(t, all[k].Start, have[k].Start)
			require.Equal(t, all[k].End, have[k].End)
			want += length(all[k], asOf)
			got += length(have[k], asOf)
		}
	}
	require.Equal(t, want, got)
	require.Len(t, s.members(), len(expected))
}

func length(i Interval, asOf time.Time) time.Duration {
	if i.Open() {
		return asOf.Sub(i.Start)
	}
	return i.End.Sub(i.Start)
}

// Whatever the feed says, the invariants hold: the store of this test refuses like ours.
func TestNonsenseNeverBreaksTheInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(t)
		pos := int64(0)
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			var batch []Fact
			for range rapid.IntRange(1, 4).Draw(t, "facts") {
				pos++
				f := fact(rapid.Int64Range(1, pos).Draw(t, "pos"), rapid.Int64Range(-1, 20).Draw(t, "from"), rapid.Int64Range(-1, 20).Draw(t, "until"), rapid.IntRange(0, 9).Draw(t, "ended") == 0)
				f.Member = rapid.SampledFrom([]string{"m", "n"}).Draw(t, "member")
				f.At = at(rapid.Int64Range(0, 20).Draw(t, "at"))
				batch = append(batch, f)
			}
			closed := s.closed()
			if rapid.IntRange(0, 4).Draw(t, "list") == 0 {
				s.restate(at(rapid.Int64Range(0, 20).Draw(t, "as of")), batch...)
			} else {
				s.apply(batch...)
			}
			for _, i := range closed {
				require.Equal(t, i, s.intervals[i.ID], "a closed interval stays")
			}
		}
	})
}

func (s *store) closed() []Interval {
	var all []Interval
	for _, i := range s.intervals {
		if !i.Open() {
			all = append(all, i)
		}
	}
	return all
}
