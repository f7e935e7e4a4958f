// Package domain owns what may happen to a simulated node: the kinds of faults and what each
// of them needs.
package domain

import (
	"github.com/weirhq/weir/pkg/kernel/fault"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	Xid           Kind = "xid"
	LoseGPU       Kind = "lose_gpu"
	ECC           Kind = "ecc" // not built yet
	Slow          Kind = "slow"
	FailNext      Kind = "fail_next_create"
	Wedge         Kind = "wedge"
	HangContainer Kind = "hang_container"
	Reboot        Kind = "reboot"
	Cut           Kind = "cut"
	Heal          Kind = "heal"
	ForeignMIG    Kind = "foreign_mig"
)

// Direction is which messages of a cut node are lost, as the node sees it.
type Direction string

// The directions of a cut.
const (
	Both Direction = "both"
	In   Direction = "in"
	Out  Direction = "out"
)

// Fault is something that happens to a node.
type Fault struct {
	ID        string
	Kind      Kind
	GPU       *int // a card's index; nil: every card that it can hit
	Xid       *int
	Seconds   int // heals by itself after that; for Slow the delay per call; 0: stays
	Direction Direction
}

// takes says which fields a kind has, and which of them it needs.
type takes struct{ gpu, xid, seconds, direction, needsXid, needsSeconds bool }

var kinds = map[Kind]takes{
	Xid:           {gpu: true, xid: true, needsXid: true, seconds: true},
	LoseGPU:       {gpu: true, seconds: true},
	Slow:          {seconds: true, needsSeconds: true},
	FailNext:      {gpu: true},
	Wedge:         {seconds: true},
	HangContainer: {seconds: true},
	Reboot:        {},
	Cut:           {seconds: true, direction: true},
	Heal:          {},
	ForeignMIG:    {gpu: true, seconds: true},
}

// Validate refuses a kind that is not built, and fields that the kind has no use for: what
// cannot be done is refused, never ignored.
func (f Fault) Validate() error {
	t, built := kinds[f.Kind]
	for _, c := range []struct {
		field   string
		wrong   bool
		message string
	}{
		{"kind", !built, "is not built in this version"},
		{"gpu", f.GPU != nil && !t.gpu, "has no meaning for this kind"},
		{"xid", f.Xid != nil && !t.xid, "has no meaning for this kind"},
		{"xid", f.Xid == nil && t.needsXid, "is required for this kind"},
		{"seconds", f.Seconds != 0 && !t.seconds, "has no meaning for this kind"},
		{"seconds", f.Seconds == 0 && t.needsSeconds, "is required for this kind"},
		{"direction", f.Direction != "" && !t.direction, "has no meaning for this kind"},
	} {
		if c.wrong {
			return fault.InvalidField(c.field, c.message)
		}
	}
	return nil
}
