package domain

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// DefaultProject is the project every org is born with.
const DefaultProject = "default"

// Standing is the operator's policy towards an org.
type Standing string

// The standings, from best to worst.
const (
	Good      Standing = "good"
	Overdue   Standing = "overdue"
	Suspended Standing = "suspended"
)

// BillingMode says whether an org pays before or after use.
type BillingMode string

// The billing modes.
const (
	Prepaid  BillingMode = "prepaid"
	Postpaid BillingMode = "postpaid"
)

// Org is a tenant.
type Org struct {
	ID          string
	Name        string
	Currency    string
	TimeZone    string
	BillingMode BillingMode
	Standing    Standing
	Approved    bool
	Reason      string // why the operator last changed it; not for the tenant's eyes
	Version     int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Project is a scope inside an org.
type Project struct {
	ID        string
	Org       string
	Name      string
	CreatedAt time.Time
}

// OrgWithLimits is what the operator sees and changes.
type OrgWithLimits struct {
	Org
	Limits Limits
}

// Version rises with every change of the org or of its limits.
func (o OrgWithLimits) Version() int64 { return o.Org.Version + o.Limits.Version }

// CheckTimeZone refuses what is not an IANA zone name.
func CheckTimeZone(field, name string) error {
	if _, err := time.LoadLocation(name); err != nil || name == "" || name == "Local" {
		return fault.InvalidField(field, "must be an IANA time zone such as Asia/Shanghai")
	}
	return nil
}

// CheckVersion refuses a change that was based on another version than the present one;
// a nil base asks for nothing.
func CheckVersion(base *int64, present int64) error {
	if base != nil && *base != present {
		return fault.New(fault.Stale, "It has changed since you read it; read it again.")
	}
	return nil
}
