package meter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fact builds the next fact of member m; -1 means it says nothing.
func fact(pos, from, until int64, ended bool) Fact {
	f := Fact{Item: "itm", Pos: pos, At: at(1000 * pos), Ended: ended, Reason: "completed", Pin: Pin{Org: "org_a", Instance: "ins_1", Member: "m", PerHour: 14_000_000, Currency: "CNY", Cards: 1}}
	if from >= 0 {
		f.From = at(from)
	}
	if until >= 0 {
		f.Until = at(until)
	}
	return f
}

func TestLedger(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		facts   []Fact
		want    string
		refused []Code
	}{
		"runs":                              {[]Fact{fact(1, 10, -1, false)}, "m:10-", nil},
		"runs and ends":                     {[]Fact{fact(1, 10, -1, false), fact(2, -1, 30, true)}, "m:10-30", nil},
		"a short run in one fact":           {[]Fact{fact(1, 10, 30, true)}, "m:10-30", nil},
		"nothing to bill":                   {[]Fact{fact(1, -1, -1, false), fact(2, -1, -1, true)}, "", nil},
		"an empty run":                      {[]Fact{fact(1, 10, 10, true)}, "", nil},
		"a negative run":                    {[]Fact{fact(1, 10, 5, true)}, "", nil},
		"ended before it was seen to run":   {[]Fact{fact(1, 10, -1, false), fact(2, -1, 10, true)}, "", nil},
		"silence and back":                  {[]Fact{fact(1, 10, -1, false), fact(2, -1, 20, false), fact(3, 40, -1, false), fact(4, -1, 50, true)}, "m:10-20 m:40-50", nil},
		"back to back":                      {[]Fact{fact(1, 10, 20, false), fact(2, 20, 30, true)}, "m:10-20 m:20-30", nil},
		"stopped while silent":              {[]Fact{fact(1, 10, -1, false), fact(2, -1, 20, false), fact(3, -1, 30, false), fact(4, -1, 35, true)}, "m:10-20", nil},
		"an earlier end of a closed one":    {[]Fact{fact(1, 10, 30, false), fact(2, -1, 20, true)}, "m:10-30", []Code{ClosedIsFinal}},
		"opens after its end":               {[]Fact{fact(1, 10, 30, true), fact(2, 40, -1, false)}, "m:10-30", []Code{AfterEnd}},
		"opens twice":                       {[]Fact{fact(1, 10, -1, false), fact(2, 20, -1, false), fact(3, -1, 30, true)}, "m:10-30", []Code{AlreadyOpen}},
		"opens again at the same instant":   {[]Fact{fact(1, 10, -1, false), fact(2, 10, -1, false), fact(3, -1, 30, true)}, "m:10-30", nil},
		"opens before its last end":         {[]Fact{fact(1, 10, 30, false), fact(2, 20, -1, false)}, "m:10-30", []Code{Overlap}},
		"ends without saying when":          {[]Fact{fact(1, 10, -1, false), fact(2, -1, -1, true)}, "m:10-2000", []Code{EndedWithoutEnd}},
		"ends twice":                        {[]Fact{fact(1, 10, 30, true), fact(2, -1, 40, true)}, "m:10-30", nil},
		"positions that were applied count": {[]Fact{fact(5, 10, -1, false), fact(3, -1, 20, true), fact(5, 11, -1, false)}, "m:10-", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			s.apply(c.facts...) // as one batch
			require.Equal(t, c.want, s.picture())
			require.Equal(t, c.refused, s.codes())

			s = newStore(t)
			for _, f := range c.facts { // one by one
				s.apply(f)
			}
			require.Equal(t, c.want, s.picture())
			require.Equal(t, c.refused, s.codes())
		})
	}
}

func TestBoundsAreTruncatedToMilliseconds(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	f := fact(1, 10, 30, true)
	f.From, f.Until = f.From.Add(999*time.Microsecond), f.Until.Add(999*time.Microsecond)
	s.apply(f)
	require.Equal(t, "m:10-30", s.picture())
}

func TestIntervalKeepsItsEvidence(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	open, end := fact(1, 10, -1, false), fact(2, -1, 30, true)
	open.Item, end.Item, end.Reason = "itm_open", "itm_end", "user"
	end.PerHour = 99 // the price is the one pinned at the start
	s.apply(open)
	s.apply(end)
	i := s.of("m")[0]
	require.Equal(t, "itm_open", i.OpenedBy)
	require.Equal(t, "itm_end", i.ClosedBy)
	require.Equal(t, "user", i.EndReason)
	require.Equal(t, open.Pin, i.Pin)
	require.Equal(t, End{Member: "m", Org: "org_a", Instance: "ins_1", At: at(30), Item: "itm_end", Reason: "user"}, s.ended["m"])
}

func TestRestate(t *testing.T) {
	t.Parallel()
	running := []Fact{fact(1, 10, -1, false)}
	paused := []Fact{fact(1, 10, 20, false)}
	flapped := []Fact{fact(1, 10, 20, false), fact(2, 40, -1, false)}
	for name, c := range map[string]struct {
		before  []Fact
		list    []Fact
		want    string
		refused []Code
	}{
		"absence closes nothing":            {running, nil, "m:10-", nil},
		"it runs, still":                    {running, []Fact{fact(0, 10, -1, false)}, "m:10-", nil},
		"it runs, unknown here":             {nil, []Fact{fact(0, 10, -1, false)}, "m:10-", nil},
		"it ended meanwhile":                {running, []Fact{fact(0, 10, 30, true)}, "m:10-30", nil},
		"it ended, told without its start":  {running, []Fact{fact(0, -1, 30, true)}, "m:10-30", nil},
		"it ended before it began":          {running, []Fact{fact(0, -1, 5, true)}, "", nil},
		"it was away, we do not know since": {running, []Fact{fact(0, 400, -1, false)}, "m:10-300 m:400-", []Code{GapOfUnknownSize}},
		"it was away, before we looked":     {running, []Fact{fact(0, 200, -1, false)}, "m:10-200 m:200-", []Code{GapOfUnknownSize}},
		"an old pause is no news":           {flapped, []Fact{fact(0, -1, 20, false)}, "m:10-20 m:40-", nil},
		"its whole history again":           {flapped, []Fact{fact(0, 10, -1, false), fact(0, -1, 20, false), fact(0, 40, -1, false)}, "m:10-20 m:40-", nil},
		"a start that was told before":      {paused, []Fact{fact(0, 10, -1, false)}, "m:10-20", nil},
		"an older end of what is closed":    {paused, []Fact{fact(0, 10, 15, false)}, "m:10-20", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			s.apply(c.before...)
			for range 2 { // a list may come twice
				s.restate(at(300), c.list...)
				require.Equal(t, c.want, s.picture())
			}
			require.Equal(t, c.refused, s.codes())
			require.Zero(t, s.pos, "the positions of the new incarnation start anew")
		})
	}
}
