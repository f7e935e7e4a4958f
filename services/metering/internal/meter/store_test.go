package meter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// store is what a database would hold, with the constraints of ours.
type store struct {
	t         require.TestingT
	intervals map[string]Interval
	ended     map[string]End
	refused   []Refusal
	pos       int64
	ids       int
}

func newStore(t require.TestingT) *store {
	return &store{t: t, intervals: map[string]Interval{}, ended: map[string]End{}}
}

func (s *store) id() string { s.ids++; return fmt.Sprintf("ivl_%05d", s.ids) }

// ledger loads all there is.
func (s *store) ledger() *Ledger {
	l := New(s.pos, s.id)
	var all []Interval
	for _, i := range s.intervals {
		all = append(all, i)
	}
	var ended []string
	for m := range s.ended {
		ended = append(ended, m)
	}
	l.Load(all, ended)
	return l
}

func (s *store) apply(facts ...Fact) {
	l := s.ledger()
	for _, f := range facts {
		l.Apply(f)
	}
	s.save(l.Delta())
}

func (s *store) restate(asOf time.Time, facts ...Fact) {
	l := s.ledger()
	l.Restate(facts, asOf)
	s.save(l.Delta())
}

func (s *store) save(d Delta) {
	s.pos = d.Pos
	for _, id := range d.Remove {
		require.Contains(s.t, s.intervals, id)
		require.True(s.t, s.intervals[id].Open(), "only open intervals may go")
		delete(s.intervals, id)
	}
	for _, i := range d.Close {
		old := s.intervals[i.ID]
		require.True(s.t, old.Open(), "a closed interval never changes")
		require.Equal(s.t, old.Start, i.Start)
		require.Equal(s.t, old.Pin, i.Pin)
		s.put(i)
	}
	for _, i := range d.Insert {
		require.NotContains(s.t, s.intervals, i.ID)
		require.NotContains(s.t, s.ended, i.Member, "nothing opens after a member's end")
		s.put(i)
	}
	for _, e := range d.Ends {
		require.NotContains(s.t, s.ended, e.Member)
		s.ended[e.Member] = e
	}
	s.refused = append(s.refused, d.Refused...)
	s.check()
}

func (s *store) put(i Interval) {
	require.Equal(s.t, i.Start, i.Start.Truncate(time.Millisecond))
	require.Equal(s.t, i.End, i.End.Truncate(time.Millisecond))
	if !i.Open() {
		require.True(s.t, i.End.After(i.Start), "empty intervals are never written")
	}
	s.intervals[i.ID] = i
}

// check is the exclusion constraint and the partial unique index.
func (s *store) check() {
	for _, m := range s.members() {
		all := s.of(m)
		for k, i := range all {
			if k > 0 {
				require.False(s.t, all[k-1].Open(), "an interval after an open one")
				require.False(s.t, all[k-1].End.After(i.Start), "intervals overlap")
			}
			if _, ended := s.ended[m]; ended {
				require.False(s.t, i.Open(), "the meter runs after its member's end")
			}
		}
	}
}

func (s *store) members() []string {
	var all []string
	for _, i := range s.intervals {
		if !slices.Contains(all, i.Member) {
			all = append(all, i.Member)
		}
	}
	slices.Sort(all)
	return all
}

// of lists a member's intervals in order.
func (s *store) of(member string) []Interval {
	var all []Interval
	for _, i := range s.intervals {
		if i.Member == member {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b Interval) int { return a.Start.Compare(b.Start) })
	return all
}

// picture writes every interval as member:start-end in milliseconds after epoch.
func (s *store) picture() string {
	var b strings.Builder
	for _, m := range s.members() {
		for _, i := range s.of(m) {
			fmt.Fprintf(&b, "%s:%d-", m, i.Start.Sub(epoch).Milliseconds())
			if !i.Open() {
				fmt.Fprintf(&b, "%d", i.End.Sub(epoch).Milliseconds())
			}
			b.WriteByte(' ')
		}
	}
	return strings.TrimSpace(b.String())
}

func (s *store) codes() []Code {
	var all []Code
	for _, r := range s.refused {
		all = append(all, r.Code)
	}
	return all
}

var epoch = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

func at(ms int64) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
