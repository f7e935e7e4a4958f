package domain

import (
	"time"
	_ "time/tzdata" // reports follow the org's zone on machines that carry none

	"github.com/weirhq/weir/pkg/kernel/money"
)

// Org is what metering knows of an org, from the tenant service's feed.
type Org struct {
	ID       string
	Currency string
	TimeZone string
	Version  int64
}

// Zone is the org's time zone; UTC while it is unknown.
func Zone(name string) *time.Location {
	if z, err := time.LoadLocation(name); err == nil && name != "Local" {
		return z
	}
	return time.UTC
}

// Cost is what an instance has cost so far.
type Cost struct {
	Instance string
	Currency string
	Cost     money.MsMicro
}
