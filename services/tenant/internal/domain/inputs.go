package domain

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
)

const maxName = 100

// SignUp asks for an account with its org.
type SignUp struct {
	Email, Password, Name, OrgName string
	Currency                       string // empty = the deployment's
}

// Clean normalises the input and refuses what does not hold.
func (in *SignUp) Clean() error {
	var c checks
	c.email("email", &in.Email)
	c.add(CheckPassword("password", in.Password))
	c.text("name", &in.Name, maxName)
	c.text("org_name", &in.OrgName, maxName)
	return c.err()
}

// LogIn is a person's try to log in.
type LogIn struct {
	Email, Password string
	Address         string // of the client, as the gateway saw it; may be empty
}

// Clean normalises the input and refuses what does not hold.
func (in *LogIn) Clean() error {
	var c checks
	c.email("email", &in.Email)
	return c.err()
}

// OrgPatch is what an org may change about itself.
type OrgPatch struct {
	Name, TimeZone *string
}

// Clean normalises the input and refuses what does not hold.
func (in *OrgPatch) Clean() error {
	var c checks
	if in.Name != nil {
		name := *in.Name
		c.text("name", &name, maxName)
		in.Name = &name
	}
	if in.TimeZone != nil {
		c.add(CheckTimeZone("time_zone", *in.TimeZone))
	}
	return c.err()
}

// Apply returns o as changed and whether anything differs.
func (in OrgPatch) Apply(o Org) (Org, bool) {
	before := o
	if in.Name != nil {
		o.Name = *in.Name
	}
	if in.TimeZone != nil {
		o.TimeZone = *in.TimeZone
	}
	return o, o != before
}

// CreateKey asks for an API key.
type CreateKey struct {
	Name      string
	Role      actor.Role
	Project   string // empty = every project
	ExpiresAt *time.Time
}

// Clean normalises the input and refuses what does not hold.
func (in *CreateKey) Clean(now time.Time) error {
	var c checks
	c.text("name", &in.Name, maxName)
	if !in.Role.Valid() {
		c.add(fault.InvalidField("role", "is not a role"))
	}
	if in.ExpiresAt != nil && !in.ExpiresAt.After(now) {
		c.add(fault.InvalidField("expires_at", "must lie in the future"))
	}
	return c.err()
}

// NewOwner is the person an operator creates an org for.
type NewOwner struct{ Email, Name string }

// CreateOrg is an operator's wish for an org.
type CreateOrg struct {
	Name        string
	Currency    string      // empty = the deployment's
	TimeZone    string      // empty = UTC
	BillingMode BillingMode // empty = the deployment's
	Limits      LimitsPatch // over the deployment's defaults
	Owner       *NewOwner
}

// Clean normalises the input and refuses what does not hold.
func (in *CreateOrg) Clean() error {
	var c checks
	c.text("name", &in.Name, maxName)
	if in.TimeZone != "" {
		c.add(CheckTimeZone("time_zone", in.TimeZone))
	}
	if in.Owner != nil {
		owner := *in.Owner
		c.email("owner.email", &owner.Email)
		c.text("owner.name", &owner.Name, maxName)
		in.Owner = &owner
	}
	return c.err()
}

// AdminPatch is what an operator may change about an org.
type AdminPatch struct {
	Limits      *LimitsPatch
	Standing    *Standing
	BillingMode *BillingMode
	Approved    *bool
	Reason      *string
}

const maxReason = 500

// Clean normalises the input and refuses what does not hold.
func (in *AdminPatch) Clean() error {
	var c checks
	if in.Reason != nil {
		reason := *in.Reason
		c.text("reason", &reason, maxReason)
		in.Reason = &reason
	}
	return c.err()
}

// Apply returns o as changed and whether anything differs.
func (in AdminPatch) Apply(o Org) (Org, bool) {
	before := o
	if in.Standing != nil {
		o.Standing = *in.Standing
	}
	if in.BillingMode != nil {
		o.BillingMode = *in.BillingMode
	}
	if in.Approved != nil {
		o.Approved = *in.Approved
	}
	if in.Reason != nil {
		o.Reason = *in.Reason
	}
	return o, o != before
}

// Bootstrap is an account that must exist when the service starts.
type Bootstrap struct {
	Email, Name string
	OrgName     string // empty for an operator
	Operator    bool
	Password    string
	// ResetPassword makes Password the account's even when it has another, and ends its sessions.
	ResetPassword bool
}

// Clean normalises the input and refuses what does not hold.
func (in *Bootstrap) Clean() error {
	var c checks
	c.email("email", &in.Email)
	c.text("name", &in.Name, maxName)
	c.add(CheckPassword("password of "+in.Email, in.Password))
	if !in.Operator {
		c.text("org_name", &in.OrgName, maxName)
	}
	return c.err()
}
