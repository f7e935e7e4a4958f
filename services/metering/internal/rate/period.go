package rate

import "time"

// Step is the length of a report's periods.
type Step string

// The steps. Hours are UTC; days and months follow a time zone.
const (
	Hour  Step = "hour"
	Day   Step = "day"
	Month Step = "month"
)

// Floor is the start of the period that holds t.
func (s Step) Floor(t time.Time, zone *time.Location) time.Time {
	if s == Hour {
		return t.UTC().Truncate(time.Hour)
	}
	start := s.start(t.In(zone), 0)
	// Where the clocks skip midnight, the next period may begin on the evening before.
	for next := s.Next(start, zone); !t.Before(next); next = s.Next(start, zone) {
		start = next
	}
	return start
}

// Next is the start of the period after the one that starts at start.
func (s Step) Next(start time.Time, zone *time.Location) time.Time {
	if s == Hour {
		return start.Add(time.Hour)
	}
	for n := 1; ; n++ {
		if next := s.start(start.In(zone), n); next.After(start) {
			return next
		}
	}
}

// start is the start of the n-th period after the one of t's date.
func (s Step) start(t time.Time, n int) time.Time {
	if s == Month {
		return time.Date(t.Year(), t.Month()+time.Month(n), 1, 0, 0, 0, 0, t.Location())
	}
	return time.Date(t.Year(), t.Month(), t.Day()+n, 0, 0, 0, 0, t.Location())
}
