package meter

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/money"
)

// Pin is all that an interval's cost depends on besides its length, fixed at its start.
type Pin struct {
	Org             string
	Project         string
	Instance        string
	Member          string
	Offering        string
	OfferingVersion int64
	PriceVersion    string
	PerHour         money.Micro // of the whole member
	Currency        string
	Cards           int64
	GPUeMicro       int64
}

// Fact is one transition of a member as the allocator published it.
type Fact struct {
	Item   string // the feed's item
	Pos    int64  // its place in the feed; unused in a restatement
	At     time.Time
	From   time.Time // the meter runs from here; zero when it says nothing
	Until  time.Time // the meter ends here; zero when it says nothing
	Ended  bool      // the last fact of this member
	Reason string
	Pin
}

// Interval is a time during which a member's meter ran.
type Interval struct {
	ID        string
	Start     time.Time
	End       time.Time // zero while it is open
	OpenedBy  string
	ClosedBy  string
	EndReason string
	Pin
}

// Open reports whether the meter still runs.
func (i Interval) Open() bool { return i.End.IsZero() }

// End is the end of a member.
type End struct {
	Member, Org, Instance string
	At                    time.Time
	Item, Reason          string
}

// Refusal is a fact that could not be billed as it was said.
type Refusal struct {
	Item, Member string
	Code         Code
	Detail       string
	At           time.Time
}

// Code says why a fact was refused.
type Code string

// The codes of refusals.
const (
	AfterEnd         Code = "after_end"          // opens a meter of a member that has ended
	AlreadyOpen      Code = "already_open"       // opens a meter that runs
	Overlap          Code = "overlap"            // opens a meter before its last end
	ClosedIsFinal    Code = "closed_is_final"    // would shorten a closed interval
	EndedWithoutEnd  Code = "ended_without_end"  // the member ended but its meter was not told when: it ended then
	GapOfUnknownSize Code = "gap_of_unknown_end" // facts were lost: the meter ended at the last one known
)

// Delta is what changed: store it in this order.
type Delta struct {
	Pos     int64
	Remove  []string   // open intervals that turned out empty
	Close   []Interval // stored ones that have an end now
	Insert  []Interval // new ones, open or closed
	Ends    []End
	Refused []Refusal
}
