package store

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Row types: json tags are column names. They go in through jsonb_populate_recordset and
// come out of to_jsonb.

type instanceRow struct {
	ID              string            `json:"id"`
	Org             string            `json:"org"`
	Project         *string           `json:"project"`
	Name            string            `json:"name"`
	State           string            `json:"state"`
	StateReason     *string           `json:"state_reason"`
	StateDetail     *string           `json:"state_detail"`
	ExitCode        *int              `json:"exit_code"`
	Offering        string            `json:"offering"`
	OfferingVersion int64             `json:"offering_version"`
	Kind            string            `json:"kind"`
	Count           int               `json:"count"`
	Nodes           int               `json:"nodes"`
	VCPUsMilli      int64             `json:"vcpus_milli"`
	RAMMiB          int64             `json:"ram_mib"`
	Image           *string           `json:"image"`
	Command         []string          `json:"command"`
	EnvSealed       *bytea            `json:"env_sealed,omitempty"`
	Labels          map[string]string `json:"labels"`
	PriceVersion    string            `json:"price_version"`
	PerHourMicro    int64             `json:"per_hour_micro"`
	Currency        string            `json:"currency"`
	Term            string            `json:"term"`
	CreatedByKind   string            `json:"created_by_kind"`
	CreatedBy       string            `json:"created_by"`
	CreatedAt       time.Time         `json:"created_at"`
	RunningAt       *time.Time        `json:"running_at"`
	StoppedAt       *time.Time        `json:"stopped_at"`
	DeleteAskedAt   *time.Time        `json:"delete_asked_at"`
	DeletedAt       *time.Time        `json:"deleted_at"`
	Members         []memberRow       `json:"members,omitempty"` // read only
}

type memberRow struct {
	ID              string     `json:"id"`
	Org             string     `json:"org"`
	Instance        string     `json:"instance"`
	Ordinal         int        `json:"ordinal"`
	Node            string     `json:"node"`
	State           string     `json:"state"`
	Reason          *string    `json:"reason"`
	Detail          *string    `json:"detail"`
	ExitCode        *int       `json:"exit_code"`
	Offering        string     `json:"offering"`
	OfferingVersion int64      `json:"offering_version"`
	Cards           int        `json:"cards"`
	GPUeMicro       int64      `json:"gpue_micro"`
	VCPUsMilli      int64      `json:"vcpus_milli"`
	RAMMiB          int64      `json:"ram_mib"`
	PriceVersion    string     `json:"price_version"`
	PerHourMicro    int64      `json:"per_hour_micro"`
	Currency        string     `json:"currency"`
	AssignedAt      time.Time  `json:"assigned_at"`
	PrepareBy       time.Time  `json:"prepare_by"`
	RunningAt       *time.Time `json:"running_at"`
	Boot            *string    `json:"boot"`
	MeterFrom       *time.Time `json:"meter_from"`
	MeterUntil      *time.Time `json:"meter_until"`
	StopCause       *string    `json:"stop_cause"`
	StopAskedAt     *time.Time `json:"stop_asked_at"`
	EndedAt         *time.Time `json:"ended_at"`
	Counted         bool       `json:"counted"`
	ReleasedAt      *time.Time `json:"released_at"`
	Ghost           bool       `json:"ghost"`
	Project         *string    `json:"project,omitempty"` // read only, as what follows
	NodeName        string     `json:"node_name,omitempty"`
	Seats           []seatRow  `json:"seats,omitempty"`
}

type seatRow struct {
	ID         string     `json:"id"`
	Org        string     `json:"org"`
	Member     string     `json:"member"`
	GPU        string     `json:"gpu"`
	Kind       string     `json:"kind"`
	Span       *string    `json:"span"`
	Profile    *string    `json:"profile"`
	Start      *int       `json:"start"`
	Size       *int       `json:"size"`
	CrossOrg   bool       `json:"cross_org"`
	Share      int        `json:"share"`
	MemoryMiB  int64      `json:"memory_mib"`
	AssignedAt time.Time  `json:"assigned_at"`
	Boot       *string    `json:"boot"`
	ReleasedAt *time.Time `json:"released_at"`
	Cleaning   *string    `json:"cleaning"`
	ReleasedBy *string    `json:"released_by"`
	Live       *liveRow   `json:"live,omitempty"` // read only
}

type liveRow struct {
	Seat       string    `json:"seat"`
	Org        string    `json:"org"`
	DeviceUUID string    `json:"device_uuid"`
	GI         *int      `json:"gi"`
	CI         *int      `json:"ci"`
	SMs        *int      `json:"sms"`
	MemoryMiB  *int64    `json:"memory_mib"`
	At         time.Time `json:"at"`
}

type transitionRow struct {
	Seq           int64      `json:"seq,omitempty"`
	ID            string     `json:"id"`
	Org           string     `json:"org"`
	Instance      string     `json:"instance"`
	Member        *string    `json:"member"`
	At            time.Time  `json:"at"`
	State         string     `json:"state"`
	Reason        *string    `json:"reason"`
	Detail        *string    `json:"detail"`
	ActorKind     string     `json:"actor_kind"`
	Actor         string     `json:"actor"`
	BillableFrom  *time.Time `json:"billable_from"`
	BillableUntil *time.Time `json:"billable_until"`
}

type usageRow struct {
	Org             string `json:"org"`
	GPUeMicro       int64  `json:"gpue_micro"`
	Instances       int64  `json:"instances"`
	QueuedInstances int64  `json:"queued_instances"`
	VCPUsMilli      int64  `json:"vcpus_milli"`
	RAMMiB          int64  `json:"ram_mib"`
}

type nodeUsageRow struct {
	Node          string `json:"node"`
	VCPUsUsed     int64  `json:"vcpus_used"`
	VCPUsReported int64  `json:"vcpus_reported"`
	RAMUsed       int64  `json:"ram_used"`
	RAMReported   int64  `json:"ram_reported"`
	Shrunk        bool   `json:"shrunk"`
}

type sessionRow struct {
	Node        string    `json:"node"`
	Boot        string    `json:"boot"`
	Seq         int64     `json:"seq"`
	ProofAt     time.Time `json:"proof_at"`
	Incarnation *string   `json:"incarnation"`
	Left        []string  `json:"left,omitempty"` // read only
}

type leftBootRow struct {
	Node    string    `json:"node"`
	Boot    string    `json:"boot"`
	EndedAt time.Time `json:"ended_at"`
}

type desiredRow struct {
	Node       string `json:"node"`
	Generation int64  `json:"generation"`
}

type orphanRow struct {
	ID         string     `json:"id"`
	Node       string     `json:"node"`
	GPUUUID    string     `json:"gpu_uuid"`
	Member     string     `json:"member"`
	Boot       string     `json:"boot"`
	Kind       string     `json:"kind"`
	Profile    *string    `json:"profile"`
	Start      *int       `json:"start"`
	Size       *int       `json:"size"`
	FoundAt    time.Time  `json:"found_at"`
	ReleasedAt *time.Time `json:"released_at"`
}

type offeringRow struct {
	ID         string    `json:"id"`
	Version    int64     `json:"version"`
	Region     string    `json:"region"`
	Model      string    `json:"model"`
	Kind       string    `json:"kind"`
	Profile    *string   `json:"profile"`
	GPUeMicro  int64     `json:"gpue_micro"`
	MemoryMiB  int64     `json:"memory_mib"`
	SMs        int       `json:"sms"`
	CardSMs    int       `json:"card_sms"`
	VCPUsMilli int64     `json:"vcpus_milli"`
	RAMMiB     int64     `json:"ram_mib"`
	CreatedAt  time.Time `json:"created_at"`
}

type itemRow struct {
	ID   string          `json:"id"`
	Feed string          `json:"feed"`
	Key  string          `json:"key"`
	Org  string          `json:"org"`
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"`
}

// bytea is bytes in PostgreSQL's hex form.
type bytea []byte

// MarshalText writes \x….
func (b bytea) MarshalText() ([]byte, error) { return []byte(`\x` + hex.EncodeToString(b)), nil }

// UnmarshalText reads \x….
func (b *bytea) UnmarshalText(t []byte) error {
	s, ok := strings.CutPrefix(string(t), `\x`)
	if !ok {
		return fmt.Errorf("%q is not bytes", t)
	}
	v, err := hex.DecodeString(s)
	*b = v
	return err
}
