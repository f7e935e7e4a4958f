package mig

import (
	"slices"
	"strings"
)

// Board is a row of the geometry table: what is public about one board.
type Board struct {
	Key           string    `json:"key"`             // "h100-80gb-sxm5"
	Model         string    `json:"model"`           // the model part of offering ids: "h100-80gb"
	Product       string    `json:"product"`         // NVML's product name
	Arch          string    `json:"arch"`            // "hopper"
	MemoryMiB     int       `json:"memory_mib"`      // of the whole card, MIG off
	SMs           int       `json:"sms"`             // of the whole card, MIG off
	Units         int       `json:"units"`           // placement units; 0: cannot be cut, or nobody published how
	ResetToToggle bool      `json:"reset_to_toggle"` // a MIG mode change needs a reset of the drained card
	Profiles      []Profile `json:"profiles,omitempty"`
}

// Profile is one way to cut a slice.
type Profile struct {
	Name          string `json:"name"`          // "1g.10gb"
	ID            int    `json:"id"`            // what nvmlDeviceCreateGpuInstance takes; not NVML's profile enum
	CIProfileID   int    `json:"ci_profile_id"` // the compute instance that fills it; not always 0 for one slice
	MemoryMiB     int    `json:"memory_mib"`    // 0: no public source
	SMs           int    `json:"sms"`           // 0: no public source
	ComputeSlices int    `json:"compute_slices"`
	Size          int    `json:"size"` // span in units
	Starts        []int  `json:"starts"`
	Max           int    `json:"max"`                // instances of it on one card
	Media         bool   `json:"media,omitempty"`    // carries the media extensions, of which a card has one set
	Graphics      bool   `json:"graphics,omitempty"` // carries graphics APIs
}

// Plain reports whether this is a profile we sell: variants with media, without media or with graphics are not.
func (p Profile) Plain() bool { return !strings.ContainsAny(p.Name, "+-") }

// Documented reports whether the profile's memory and SMs are known, without which it has no price by size.
func (p Profile) Documented() bool { return p.MemoryMiB > 0 && p.SMs > 0 }

func (p Profile) larger(q Profile) bool {
	if p.ComputeSlices != q.ComputeSlices {
		return p.ComputeSlices > q.ComputeSlices
	}
	return p.Size > q.Size
}

// Profile finds a profile by name.
func (b Board) Profile(name string) (Profile, bool) { return find(b.Profiles, name) }

// Geometry is how the board can be cut.
func (b Board) Geometry() Geometry { return Geometry{Units: b.Units, Profiles: b.clone().Profiles} }

// Boards lists every board we know, by key. The result is the caller's own.
func Boards() []Board {
	all := make([]Board, 0, len(boards))
	for _, b := range boards {
		all = append(all, b.clone())
	}
	return all
}

// BoardByKey finds a board. The result is the caller's own.
func BoardByKey(key string) (Board, bool) {
	i, ok := slices.BinarySearchFunc(boards, key, func(b Board, k string) int { return strings.Compare(b.Key, k) })
	if !ok {
		return Board{}, false
	}
	return boards[i].clone(), true
}

func (b Board) clone() Board {
	b.Profiles = slices.Clone(b.Profiles)
	for i := range b.Profiles {
		b.Profiles[i].Starts = slices.Clone(b.Profiles[i].Starts)
	}
	return b
}

func find(profiles []Profile, name string) (Profile, bool) {
	for _, p := range profiles {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}
