package domain

import "time"

// MemberItem is a transition as the instances feed tells it.
type MemberItem struct {
	Kind            string `json:"kind"` // "member"
	Instance        string `json:"instance"`
	Member          string `json:"member"`
	Org             string `json:"org"`
	Project         string `json:"project"`
	Offering        string `json:"offering"`
	OfferingVersion int64  `json:"offering_version"`
	PriceVersion    string `json:"price_version"`
	PerHourMicro    int64  `json:"per_hour_micro"`
	Currency        string `json:"currency"`
	Cards           int    `json:"cards"`
	GPUeMicro       int64  `json:"gpue_micro"`
	State           State  `json:"state"`
	Reason          string `json:"reason,omitempty"`
	At              string `json:"at"`
	BillableFrom    string `json:"billable_from,omitempty"`
	BillableUntil   string `json:"billable_until,omitempty"`
	Ended           bool   `json:"ended"`
}

// Heartbeat says that the writer lives and that the feed is complete up to its time.
type Heartbeat struct {
	Kind string `json:"kind"` // "heartbeat"
	At   string `json:"at"`
}

// FeedName is the feed of everything that happens to members.
const FeedName = "instances"

// Item tells a step.
func (s Step) Item() MemberItem {
	m := s.Member
	return MemberItem{Kind: "member", Instance: m.Instance, Member: m.ID, Org: m.Org, Project: m.Project, Offering: m.Offering,
		OfferingVersion: m.OfferingVersion, PriceVersion: m.PriceVersion, PerHourMicro: int64(m.PerHour), Currency: m.Currency,
		Cards: m.Cards, GPUeMicro: m.GPUeMicro, State: s.State, Reason: s.Reason, At: stamp(&s.At),
		BillableFrom: stamp(s.From), BillableUntil: stamp(s.Until), Ended: s.Ended}
}

// NewHeartbeat is a heartbeat of that instant.
func NewHeartbeat(at time.Time) Heartbeat { return Heartbeat{Kind: "heartbeat", At: stamp(&at)} }

const stampLayout = "2006-01-02T15:04:05.000Z"

func stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(stampLayout)
}
