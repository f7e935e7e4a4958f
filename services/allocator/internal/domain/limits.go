package domain

// Limits are an org's, as policy; nil is none.
type Limits struct {
	Org             string
	GPUeMicro       *int64
	Instances       *int64
	QueuedInstances *int64
	VCPUsMilli      *int64
	RAMMiB          *int64
	Version         int64
}

// Usage is what is used of an org's limits, or what more would be.
type Usage struct {
	GPUeMicro       int64
	Instances       int64
	QueuedInstances int64
	VCPUsMilli      int64
	RAMMiB          int64
}

// Plus adds.
func (u Usage) Plus(o Usage) Usage {
	return Usage{u.GPUeMicro + o.GPUeMicro, u.Instances + o.Instances, u.QueuedInstances + o.QueuedInstances, u.VCPUsMilli + o.VCPUsMilli, u.RAMMiB + o.RAMMiB}
}

// Minus subtracts.
func (u Usage) Minus(o Usage) Usage {
	return Usage{u.GPUeMicro - o.GPUeMicro, u.Instances - o.Instances, u.QueuedInstances - o.QueuedInstances, u.VCPUsMilli - o.VCPUsMilli, u.RAMMiB - o.RAMMiB}
}

// Excess is the first limit that something would pass, in the limit's own unit.
type Excess struct {
	Resource               string
	Limit, Used, Requested int64
	Thousandths, Millionth bool // the unit of the three
}

// Excess finds the first limit that want would pass on top of what is used. A limit below
// the use blocks only what would use more of it.
func (l Limits) Excess(used, want Usage) *Excess {
	for _, c := range []struct {
		resource   string
		limit      *int64
		used, want int64
	}{
		{"instances", l.Instances, used.Instances, want.Instances},
		{"gpue", l.GPUeMicro, used.GPUeMicro, want.GPUeMicro},
		{"vcpus", l.VCPUsMilli, used.VCPUsMilli, want.VCPUsMilli},
		{"ram_mib", l.RAMMiB, used.RAMMiB, want.RAMMiB},
	} {
		if c.limit != nil && c.want > 0 && c.used+c.want > *c.limit {
			return &Excess{Resource: c.resource, Limit: *c.limit, Used: c.used, Requested: c.want, Thousandths: c.resource == "vcpus", Millionth: c.resource == "gpue"}
		}
	}
	return nil
}

// Uses is what the member takes of its org's limits, its instance aside.
func (m *Member) Uses() Usage {
	return Usage{GPUeMicro: m.GPUeMicro, VCPUsMilli: m.VCPUsMilli, RAMMiB: m.RAMMiB}
}

// Org is what the allocator must know of an org.
type Org struct {
	ID, Name, Currency, TimeZone, BillingMode, Standing string
	Approved                                            bool
	Project                                             string // the default one, when it is published
	Version                                             int64
}
