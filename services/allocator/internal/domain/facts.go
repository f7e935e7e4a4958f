package domain

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kernel/money"
)

// ParseOrg reads an item of tenant's orgs feed.
func ParseOrg(data []byte) (Org, error) {
	var f struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Currency    string `json:"currency"`
		TimeZone    string `json:"time_zone"`
		BillingMode string `json:"billing_mode"`
		Standing    string `json:"standing"`
		Approved    bool   `json:"approved"`
		Project     string `json:"default_project"`
		Version     int64  `json:"version"`
	}
	if err := parse(data, &f); err != nil || f.ID == "" {
		return Org{}, fmt.Errorf("read an org: %w", orMissing(err))
	}
	return Org{ID: f.ID, Name: f.Name, Currency: f.Currency, TimeZone: f.TimeZone, BillingMode: f.BillingMode, Standing: f.Standing,
		Approved: f.Approved, Project: f.Project, Version: f.Version}, nil
}

// ParseLimits reads an item of tenant's limits feed.
func ParseLimits(data []byte) (Limits, error) {
	var f struct {
		Org             string `json:"org"`
		GPUeMicro       *int64 `json:"gpue_micro"`
		Instances       *int64 `json:"instances"`
		QueuedInstances *int64 `json:"queued_instances"`
		VCPUsMilli      *int64 `json:"vcpus_milli"`
		RAMMiB          *int64 `json:"ram_mib"`
		Version         int64  `json:"version"`
	}
	if err := parse(data, &f); err != nil || f.Org == "" {
		return Limits{}, fmt.Errorf("read limits: %w", orMissing(err))
	}
	return Limits{Org: f.Org, GPUeMicro: f.GPUeMicro, Instances: f.Instances, QueuedInstances: f.QueuedInstances, VCPUsMilli: f.VCPUsMilli,
		RAMMiB: f.RAMMiB, Version: f.Version}, nil
}

// ParsePrice reads an item of metering's prices feed.
func ParsePrice(data []byte) (Price, error) {
	var f struct {
		VersionID     string    `json:"version_id"`
		Offering      string    `json:"offering"`
		Currency      string    `json:"currency"`
		PerHourMicro  int64     `json:"per_hour_micro"`
		EffectiveFrom time.Time `json:"effective_from"`
	}
	if err := parse(data, &f); err != nil || f.VersionID == "" || f.Offering == "" || f.PerHourMicro < 0 {
		return Price{}, fmt.Errorf("read a price: %w", orMissing(err))
	}
	return Price{VersionID: f.VersionID, Offering: f.Offering, Currency: f.Currency, PerHour: money.Micro(f.PerHourMicro), EffectiveFrom: f.EffectiveFrom.UTC()}, nil
}

func parse(data []byte, to any) error { return json.Unmarshal(data, to) }

var errMissing = fmt.Errorf("it does not say what it is about")

func orMissing(err error) error {
	if err == nil {
		return errMissing
	}
	return err
}
