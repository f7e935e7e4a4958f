package domain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var t0 = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

func newMember() *Member {
	return &Member{ID: "mem_1", Instance: "ins_1", Node: "nod_1", State: Assigned, AssignedAt: t0, PrepareBy: at(300), Counted: true, Proof: t0,
		Seats: []*Seat{{ID: "sea_1", Member: "mem_1"}}}
}

func secs(d float64) *time.Duration {
	v := time.Duration(d * float64(time.Second))
	return &v
}

// act is something that happens to a member at an instant.
type act func(m *Member) []Step

func sees(s float64, state ObservedState, ran, ended *time.Duration) act {
	return func(m *Member) []Step {
		return m.Observe(Observed{Member: m.ID, State: state, RunningAge: ran, EndedAge: ended}, "b1", at(s))
	}
}

func asks(s float64, c Contact) act {
	return func(m *Member) []Step { return m.Ask(ByUser, "", Actor{}, at(s), c) }
}

// gone is what the first report of a boot says of a member that an earlier one had.
func gone(s float64, boot string) act {
	return func(m *Member) []Step { return m.Observe(Observed{Member: m.ID, State: SeenGone}, boot, at(s)) }
}

func silent(s float64) act { return func(m *Member) []Step { return m.Silence(at(s)) } }

func TestWhatHappensToAMember(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		acts  []act
		state State
		// bounds of the meter, from and until in turn
		meter []float64
		why   string
	}{
		"runs and completes":              {[]act{sees(1, SeenPreparing, nil, nil), sees(2, SeenRunning, secs(0.5), nil), sees(9, SeenStopped, secs(7.5), secs(1))}, Stopped, []float64{1.5, 8}, "completed"},
		"age before the assignment":       {[]act{sees(2, SeenRunning, secs(50), nil)}, Running, []float64{0}, ""},
		"fails while preparing":           {[]act{sees(1, SeenPreparing, nil, nil), sees(2, SeenFailed, nil, secs(0))}, Failed, nil, "failed"},
		"short-lived":                     {[]act{sees(9, SeenStopped, secs(3), secs(1))}, Stopped, []float64{6, 8}, "completed"},
		"shorter than a report's way":     {[]act{sees(2, SeenRunning, secs(0), nil), sees(2.01, SeenStopped, secs(0.105), secs(0.1))}, Stopped, []float64{2, 2.005}, "completed"},
		"stopped by the user":             {[]act{sees(1, SeenRunning, nil, nil), asks(5, Heard), sees(7, SeenStopped, nil, secs(1))}, Stopped, []float64{1, 5}, "user"},
		"stopped twice":                   {[]act{sees(1, SeenRunning, nil, nil), asks(5, Heard), asks(6, Heard)}, Stopping, []float64{1, 5}, "user"},
		"never runs again":                {[]act{sees(1, SeenRunning, nil, nil), asks(5, Heard), sees(6, SeenRunning, secs(5), nil)}, Stopping, []float64{1, 5}, "user"},
		"stopped before it was seen":      {[]act{asks(5, Heard), sees(7, SeenStopped, secs(4), secs(1))}, Stopped, []float64{3, 5}, "user"},
		"ran before the stop, seen after": {[]act{asks(5, Heard), sees(6, SeenRunning, secs(4), nil)}, Stopping, []float64{2, 5}, "user"},
		"began after the stop":            {[]act{asks(5, Heard), sees(8, SeenStopped, secs(2), secs(1))}, Stopped, nil, "user"},
		"quiet, had ended before":         {[]act{sees(1, SeenRunning, nil, nil), asks(50, Quiet), sees(60, SeenStopped, nil, secs(30))}, Stopped, []float64{1, 30}, "completed"},
		"quiet, had not ended":            {[]act{sees(1, SeenRunning, nil, nil), asks(50, Quiet), sees(60, SeenStopped, nil, secs(2))}, Stopped, []float64{1, 50}, "user"},
		"quiet, then silent":              {[]act{sees(1, SeenRunning, nil, nil), asks(50, Quiet), silent(90)}, Stopping, []float64{1, 1}, "user"},
		"silent and healed":               {[]act{sees(1, SeenRunning, nil, nil), sees(5, SeenRunning, nil, nil), silent(45), sees(99, SeenRunning, secs(98), nil)}, Running, []float64{1, 5, 99}, ""},
		"silent before it ran":            {[]act{sees(1, SeenPreparing, nil, nil), silent(45), sees(99, SeenRunning, secs(90), nil)}, Running, []float64{99}, ""},
		"silent, ended meanwhile":         {[]act{sees(1, SeenRunning, nil, nil), silent(45), sees(99, SeenFailed, secs(98), secs(20))}, Failed, []float64{1, 1}, "failed"},
		"silent, prepared meanwhile":      {[]act{sees(1, SeenPreparing, nil, nil), silent(45), sees(99, SeenStopped, secs(50), secs(20))}, Stopped, nil, "completed"},
		"stop asked while silent":         {[]act{sees(1, SeenRunning, nil, nil), silent(45), asks(60, Silent), sees(99, SeenRunning, secs(98), nil)}, Stopping, []float64{1, 1}, "user"},
		"going down":                      {[]act{sees(1, SeenRunning, nil, nil), func(m *Member) []Step { return m.GoDown("b1", at(7)) }}, Stopped, []float64{1, 7}, "platform"},
		"fenced":                          {[]act{sees(1, SeenRunning, nil, nil), silent(45), func(m *Member) []Step { return m.Fence("", Actor{}, at(60)) }}, Lost, []float64{1, 1}, "fenced"},
		"overdue":                         {[]act{func(m *Member) []Step { return m.Overdue(at(301), at(301), Heard) }, sees(302, SeenStopped, nil, nil)}, Failed, nil, "preparing_deadline"},
		"stops by itself":                 {[]act{sees(1, SeenRunning, nil, nil), sees(5, SeenStopping, nil, nil), sees(6, SeenStopped, nil, secs(0.5))}, Stopped, []float64{1, 5.5}, "completed"},
		"never heard of, to run":          {[]act{sees(1, SeenUnknown, nil, nil)}, Assigned, nil, ""},
		"never heard of, to stop":         {[]act{asks(1, Heard), sees(2, SeenUnknown, nil, nil)}, Stopped, nil, "user"},
		"rebooted":                        {[]act{sees(1, SeenRunning, nil, nil), gone(9, "b2")}, Lost, []float64{1, 1}, "node_rebooted"},
		"rebooted before it was told of":  {[]act{gone(9, "b2")}, Lost, nil, "node_rebooted"},
		"gone without a reboot":           {[]act{sees(1, SeenRunning, nil, nil), gone(9, "b1")}, Lost, []float64{1, 1}, "agent_lost_it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMember()
			var meter []float64
			for _, a := range c.acts {
				for _, s := range a(m) {
					for _, bound := range []*time.Time{s.From, s.Until} {
						if bound != nil {
							meter = append(meter, bound.Sub(t0).Seconds())
						}
					}
				}
			}
			require.Equal(t, c.state, m.State)
			require.Equal(t, c.meter, meter)
			require.Equal(t, c.why, m.Reason)
			require.Equal(t, m.State.Ended(), m.EndedAt != nil)
		})
	}
}

// Whatever happens in whatever order, the meter's rules hold.
func TestMetersHoldWhateverHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, now := newMember(), 0.0
		var open, last *time.Time
		ended := false
		for range rapid.IntRange(1, 30).Draw(t, "acts") {
			now += rapid.Float64Range(0, 60).Draw(t, "pause")
			age := func(label string) *time.Duration {
				if rapid.Bool().Draw(t, label+"?") {
					return secs(rapid.Float64Range(0, 200).Draw(t, label))
				}
				return nil
			}
			state := rapid.SampledFrom([]ObservedState{SeenPreparing, SeenRunning, SeenStopping, SeenStopped, SeenFailed, SeenGone, SeenUnknown}).Draw(t, "state")
			contact := rapid.SampledFrom([]Contact{Heard, Quiet, Silent}).Draw(t, "contact")
			boot := rapid.SampledFrom([]string{"b1", "b1", "b1", "b2"}).Draw(t, "boot")
			was := m.State
			var steps []Step
			switch rapid.IntRange(0, 9).Draw(t, "act") {
			case 0, 1, 2, 3, 4:
				steps = m.Observe(Observed{State: state, RunningAge: age("ran"), EndedAge: age("ended")}, boot, at(now))
			case 5:
				steps = m.Ask(ByUser, "", Actor{}, at(now), contact)
			case 6:
				steps = m.Silence(at(now))
			case 7:
				steps = m.Overdue(at(now), at(now), contact)
			case 8:
				steps = m.GoDown("b1", at(now))
			case 9:
				steps = m.Fence("", Actor{}, at(now))
			}
			for _, s := range steps {
				if ended {
					t.Fatalf("a step after the end: %+v", s)
				}
				if s.From != nil {
					require.Nil(t, open, "one open at most")
					require.False(t, s.From.Before(m.AssignedAt))
					require.True(t, last == nil || !s.From.Before(*last), "no overlap")
					open = s.From
				}
				if s.Until != nil {
					require.NotNil(t, open, "nothing to close")
					require.False(t, s.Until.Before(*open))
					require.False(t, s.Until.After(at(now)), "nobody bills the future")
					if m.StopAskedAt != nil {
						require.False(t, s.Until.After(*m.StopAskedAt), "nothing is billed after the stop was asked")
					}
					open, last = nil, s.Until
				}
				ended = ended || s.Ended
			}
			require.Equal(t, open, m.MeterFrom)
			require.Equal(t, ended, m.State.Ended())
			require.True(t, m.MeterFrom == nil || m.State == Running || m.State == Stopping)
			require.True(t, m.State != Running || m.MeterFrom != nil)
			if was == Stopping {
				require.NotEqual(t, Running, m.State, "stopping never runs again")
			}
			if ended {
				require.False(t, m.Counted)
				require.Nil(t, open)
			}
		}
	})
}

func TestInstanceFollowsItsMembers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		members []State
		want    State
	}{
		{[]State{Running}, Running},
		{[]State{Running, Preparing}, Preparing},
		{[]State{Running, Unreachable}, Unreachable},
		{[]State{Stopping, Unreachable}, Stopping},
		{[]State{Stopped, Running}, Running},
		{[]State{Stopped, Failed, Stopped}, Failed},
		{[]State{Failed, Lost}, Lost},
		{[]State{Stopped, Stopped}, Stopped},
	} {
		i := &Instance{}
		for n, s := range c.members {
			m := &Member{State: s, AssignedAt: t0}
			if s.Ended() {
				end := at(float64(n))
				m.EndedAt = &end
			}
			i.Members = append(i.Members, m)
		}
		i.Derive()
		require.Equal(t, c.want, i.State, "%v", c.members)
		require.Equal(t, i.State.Ended(), i.StoppedAt != nil)
	}
}
