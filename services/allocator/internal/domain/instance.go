package domain

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/money"
)

// Instance is what a tenant rents. Its state is derived from its members.
type Instance struct {
	ID, Org, Project, Name string
	State                  State
	Reason, Detail         string
	ExitCode               *int
	Offering               string
	OfferingVersion        int64
	Kind                   Kind
	Count, Nodes           int
	VCPUsMilli, RAMMiB     int64 // of one member
	Image                  string
	Command                []string
	EnvSealed              []byte
	Labels                 map[string]string
	PriceVersion           string
	PerHour                money.Micro // of the whole instance
	Currency               string
	CreatedBy              Actor
	CreatedAt              time.Time
	RunningAt              *time.Time
	StoppedAt              *time.Time
	DeleteAskedAt          *time.Time
	DeletedAt              *time.Time
	Members                []*Member
}

// OnDemand is the only term sold.
const OnDemand = "on_demand"

// progress orders the states of live members: the instance shows the least able one.
var progress = map[State]int{Stopping: 0, Unreachable: 1, Assigned: 2, Preparing: 3, Running: 4}

// Derive sets what follows from the members.
func (i *Instance) Derive() {
	var decides *Member
	ended, worst := true, -1
	for _, m := range i.Members {
		if m.RunningAt != nil && (i.RunningAt == nil || m.RunningAt.Before(*i.RunningAt)) {
			i.RunningAt = m.RunningAt
		}
		if m.State.Ended() {
			if r := endRank(m.State); ended && r > worst {
				decides, worst = m, r
			}
			continue
		}
		if ended || progress[m.State] < worst {
			decides, ended, worst = m, false, progress[m.State]
		}
	}
	if decides == nil {
		return
	}
	i.State, i.Reason, i.Detail, i.ExitCode = decides.State, decides.Reason, decides.Detail, decides.ExitCode
	i.StoppedAt = nil
	if ended {
		for _, m := range i.Members {
			if i.StoppedAt == nil || m.EndedAt.After(*i.StoppedAt) {
				i.StoppedAt = m.EndedAt
			}
		}
	}
}

func endRank(s State) int {
	switch s {
	case Lost:
		return 2
	case Failed:
		return 1
	}
	return 0
}

// Delete asks for the instance to be marked deleted once it has ended, which may be now.
func (i *Instance) Delete(now time.Time) {
	if i.DeleteAskedAt == nil {
		at := Ms(now)
		i.DeleteAskedAt = &at
	}
	i.Bury(now)
}

// Bury marks an ended instance deleted if that was asked.
func (i *Instance) Bury(now time.Time) {
	if i.DeleteAskedAt != nil && i.DeletedAt == nil && i.State.Ended() {
		at := Ms(now)
		i.DeletedAt = &at
	}
}

// Counted reports whether the instance counts towards its org's limit of instances.
func (i *Instance) Counted() bool {
	for _, m := range i.Members {
		if m.Counted {
			return true
		}
	}
	return false
}

// Event is one line of an instance's history.
type Event struct {
	Seq                         int64
	ID, Org, Instance, Member   string
	At                          time.Time
	State                       State
	Reason, Detail              string
	Actor                       Actor
	BillableFrom, BillableUntil *time.Time
}
