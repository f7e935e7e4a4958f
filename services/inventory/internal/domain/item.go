package domain

import (
	"slices"
	"time"
)

// Feed is the name of the feed of nodes.
const Feed = "nodes"

// Item is a node as the feed tells it: the whole of it, with its cards.
type Item struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Pool         string            `json:"pool"`
	Region       string            `json:"region"`
	State        NodeState         `json:"state"`
	StateReason  *string           `json:"state_reason"`
	Cordoned     bool              `json:"cordoned"`
	Quarantined  bool              `json:"quarantined"`
	Simulated    bool              `json:"simulated"`
	BootID       *string           `json:"boot_id"`
	LastSeenAt   *time.Time        `json:"last_seen_at"`
	VCPUsMilli   int64             `json:"vcpus_milli"`
	RAMMiB       int64             `json:"ram_mib"`
	DiskMiB      int64             `json:"disk_mib"`
	RefusingWork *string           `json:"refusing_work"`
	Rack         *string           `json:"rack"`
	Zone         *string           `json:"zone"`
	Labels       map[string]string `json:"labels"`
	Version      int64             `json:"version"`
	GPUs         []ItemGPU         `json:"gpus"`
}

// ItemGPU is a card as the feed tells it.
type ItemGPU struct {
	ID    string `json:"id"`
	UUID  string `json:"uuid"`
	Model string `json:"model"`
	CardFacts
	Policy   Policy   `json:"policy"`
	State    GPUState `json:"state"`
	Cordoned bool     `json:"cordoned"`
}

// NewItem tells n with its cards, in the order of their index.
func NewItem(n Node, gpus []GPU) Item {
	it := Item{
		ID: n.ID, Name: n.Name, Pool: n.Pool, Region: n.Region, State: n.State, StateReason: orNil(string(n.Reason)),
		Cordoned: n.Cordoned, Quarantined: n.Quarantined, Simulated: n.Facts.Simulated, BootID: orNil(n.BootID),
		VCPUsMilli: n.Facts.VCPUsMilli, RAMMiB: n.Facts.RAMMiB, DiskMiB: n.Facts.DiskMiB, RefusingWork: orNil(n.Facts.RefusingWork),
		Rack: orNil(n.Rack), Zone: orNil(n.Zone), Labels: n.Labels, Version: n.Version, GPUs: []ItemGPU{},
	}
	if !n.LastSeenAt.IsZero() {
		at := n.LastSeenAt.UTC().Truncate(time.Millisecond)
		it.LastSeenAt = &at
	}
	if it.Labels == nil {
		it.Labels = map[string]string{}
	}
	gpus = slices.Clone(gpus)
	slices.SortFunc(gpus, compareGPUs)
	for _, g := range gpus {
		it.GPUs = append(it.GPUs, ItemGPU{ID: g.ID, UUID: g.UUID, Model: g.Model, CardFacts: g.Facts, Policy: g.Policy, State: g.State, Cordoned: g.Cordoned})
	}
	return it
}

func compareGPUs(a, b GPU) int {
	if a.Facts.Index != b.Facts.Index {
		return a.Facts.Index - b.Facts.Index
	}
	if a.ID < b.ID {
		return -1
	}
	return 1
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
