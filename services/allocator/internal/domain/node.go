package domain

import (
	"encoding/json"
	"fmt"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

// Node is what inventory publishes of a server.
type Node struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Pool       string `json:"pool"`
	Region     string `json:"region"`
	State      string `json:"state"` // ready, not_ready, retired
	Cordoned   bool   `json:"cordoned"`
	Quarantine bool   `json:"quarantined"`
	Refusing   string `json:"refusing_work"` // why it starts nothing new just now
	Simulated  bool   `json:"simulated"`
	BootID     string `json:"boot_id"`
	VCPUsMilli int64  `json:"vcpus_milli"`
	RAMMiB     int64  `json:"ram_mib"`
	Version    int64  `json:"version"`
	GPUs       []GPU  `json:"gpus"`
}

// GPU is what inventory publishes of a card.
type GPU struct {
	ID            string        `json:"id"`
	UUID          string        `json:"uuid"`
	Index         int           `json:"index"`
	Board         string        `json:"board"`
	Model         string        `json:"model"`
	Arch          string        `json:"arch"`
	MemoryMiB     int64         `json:"memory_mib"`
	SMs           int           `json:"sms"`
	Units         int           `json:"units"`
	MIGMode       string        `json:"mig_mode"` // on, off, pending
	ResetToToggle bool          `json:"reset_to_toggle"`
	Policy        string        `json:"policy"` // auto, whole, mig
	State         string        `json:"state"`  // ok, quarantined, lost, retired
	Cordoned      bool          `json:"cordoned"`
	Profiles      []mig.Profile `json:"profiles"`
}

// The words of inventory that matter here.
const (
	NodeReady   = "ready"
	NodeRetired = "retired"
	CardOK      = "ok"
	CardLost    = "lost"
	CardRetired = "retired"
	MIGOn       = "on"
	MIGPending  = "pending"
)

// ParseNode reads an item of the nodes feed.
func ParseNode(data []byte) (Node, error) {
	var n Node
	if err := json.Unmarshal(data, &n); err != nil {
		return n, fmt.Errorf("read a node: %w", err)
	}
	if n.ID == "" {
		return n, fmt.Errorf("read a node: it has no id")
	}
	return n, nil
}

// Sells reports whether inventory lets the node take new work.
func (n Node) Sells() bool {
	return n.State == NodeReady && !n.Cordoned && !n.Quarantine && n.Refusing == ""
}

// Geometry is how the card can be cut, as it reported.
func (g GPU) Geometry() mig.Geometry { return mig.Geometry{Units: g.Units, Profiles: g.Profiles} }

// Counts reports whether the card still belongs to what the pool could offer.
func (g GPU) Counts() bool { return g.State != CardRetired && g.State != CardLost }
