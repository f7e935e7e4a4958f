package domain

import "time"

// How many decimals a quantity has on the wire; inside it is an integer of that unit.
const (
	GPUePlaces = 6 // millionths of a GPU equivalent
	CPUPlaces  = 3 // thousandths of a core
)

// Limits is what an org may use at once. nil = unlimited.
type Limits struct {
	Org             string
	GPUeMicro       *int64
	Instances       *int64
	QueuedInstances *int64
	VCPUsMilli      *int64
	RAMMiB          *int64
	Version         int64
	UpdatedAt       time.Time
}

// LimitChange is one field of a patch: left alone, or set to a value or to unlimited.
type LimitChange struct {
	Set bool
	To  *int64
}

// apply returns the field after the change and whether it differs.
func (c LimitChange) apply(now *int64) (*int64, bool) {
	if !c.Set || (now == nil && c.To == nil) || (now != nil && c.To != nil && *now == *c.To) {
		return now, false
	}
	return c.To, true
}

// LimitsPatch changes some of an org's limits.
type LimitsPatch struct {
	GPUeMicro, Instances, QueuedInstances, VCPUsMilli, RAMMiB LimitChange
}

// Apply returns l as changed and whether anything differs.
func (p LimitsPatch) Apply(l Limits) (Limits, bool) {
	var changed [5]bool
	l.GPUeMicro, changed[0] = p.GPUeMicro.apply(l.GPUeMicro)
	l.Instances, changed[1] = p.Instances.apply(l.Instances)
	l.QueuedInstances, changed[2] = p.QueuedInstances.apply(l.QueuedInstances)
	l.VCPUsMilli, changed[3] = p.VCPUsMilli.apply(l.VCPUsMilli)
	l.RAMMiB, changed[4] = p.RAMMiB.apply(l.RAMMiB)
	return l, changed != [5]bool{}
}
