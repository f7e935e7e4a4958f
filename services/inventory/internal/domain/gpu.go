package domain

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

// Policy is what a card may be sold as.
type Policy string

// The policies; `shared` is not built yet.
const (
	PolicyAuto  Policy = "auto"
	PolicyWhole Policy = "whole"
	PolicyMIG   Policy = "mig"
)

// GPUState is how a card is.
type GPUState string

// The states of a card. A card is never deleted: a lost one may come back.
const (
	GPUOK          GPUState = "ok"
	GPUQuarantined GPUState = "quarantined" // holds MIG devices that Weir did not make
	GPULost        GPUState = "lost"        // the agent lost it, or no longer names it
	GPURetired     GPUState = "retired"
)

// The MIG modes of a card.
const (
	MIGOn      = "on"
	MIGOff     = "off"
	MIGPending = "pending" // asked for, waits for a reset
)

// GPU is a physical card, known by the UUID that its driver reports.
type GPU struct {
	ID, Node, UUID string
	Facts          CardFacts
	Model          string // of offering ids
	Policy         Policy
	State          GPUState
	Cordoned       bool
	Version        int64

	NodeName string    // read with it
	Seen     CardSeen  // read with it: what its node's last status showed
	SeenAt   time.Time // and when; zero when that status did not name the card
}

// CardFacts is what an agent says about a card that does not change by using it.
type CardFacts struct {
	Index         int       `json:"index"`
	Serial        string    `json:"serial"`
	Board         string    `json:"board"`
	Product       string    `json:"product"`
	Arch          string    `json:"arch"`
	MemoryMiB     int64     `json:"memory_mib"`
	SMs           int       `json:"sms"`
	Units         int       `json:"units"`
	MIGMode       string    `json:"mig_mode"`
	ResetToToggle bool      `json:"reset_to_toggle"`
	Profiles      []Profile `json:"profiles"`
}

// Profile is a way to cut the card, as the card's own driver reported it.
type Profile struct {
	Name          string `json:"name"`
	ID            int    `json:"id"`
	CIProfileID   int    `json:"ci_profile_id"`
	MemoryMiB     int    `json:"memory_mib"`
	SMs           int    `json:"sms"`
	ComputeSlices int    `json:"compute_slices"`
	Size          int    `json:"size"`
	Starts        []int  `json:"starts"`
}

// modelOf is the model part of offering ids: a column of the board table; a board that the
// table does not know is its own model.
func modelOf(board string) string {
	if b, ok := mig.BoardByKey(board); ok {
		return b.Model
	}
	return board
}

// LargestFree is the largest profile that the card could still be cut into as it was last
// seen, or "".
func (g GPU) LargestFree() string {
	cuttable := g.Facts.MIGMode == MIGOn || g.Facts.MIGMode == MIGOff && !g.Facts.ResetToToggle
	if g.State != GPUOK || g.Policy == PolicyWhole || !cuttable {
		return ""
	}
	occupied := make([]mig.Placement, 0, len(g.Seen.Layout))
	for _, s := range g.Seen.Layout {
		occupied = append(occupied, mig.Placement{Start: s.Start, Size: s.Size})
	}
	p, ok := g.geometry().Largest(occupied)
	if !ok {
		return ""
	}
	return p.Name
}

func (g GPU) geometry() mig.Geometry {
	geo := mig.Geometry{Units: g.Facts.Units}
	for _, p := range g.Facts.Profiles {
		geo.Profiles = append(geo.Profiles, mig.Profile{Name: p.Name, ID: p.ID, CIProfileID: p.CIProfileID, MemoryMiB: p.MemoryMiB,
			SMs: p.SMs, ComputeSlices: p.ComputeSlices, Size: p.Size, Starts: p.Starts})
	}
	return geo
}

// GPUUpdate is an operator's change; nil leaves a field as it is.
type GPUUpdate struct {
	Cordoned *bool
	Policy   *Policy
}

// Apply changes g and reports whether anything is different.
func (u GPUUpdate) Apply(g *GPU) bool {
	before := *g
	if u.Cordoned != nil {
		g.Cordoned = *u.Cordoned
	}
	if u.Policy != nil {
		g.Policy = *u.Policy
	}
	return before.Cordoned != g.Cordoned || before.Policy != g.Policy
}
