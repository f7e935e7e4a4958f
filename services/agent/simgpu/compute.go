package simgpu

import (
	"context"
	"fmt"
	"slices"

	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/services/agent/driver"
)

// computeIDs are NVML's ids of the compute profiles that take so many slices. There is none for 5, 6 or 8: asking for an id
// computed from the number of slices is the fault of kubernetes-sigs/dra-driver-nvidia-gpu#1480.
var computeIDs = map[int]int{1: 0, 2: 1, 3: 2, 4: 3, 7: 4}

func computeProfiles(p mig.Profile) []driver.ComputeProfile {
	full := driver.ComputeProfile{ID: p.CIProfileID, Slices: p.ComputeSlices, SMs: p.SMs}
	if computeIDs[p.ComputeSlices] != p.CIProfileID {
		return []driver.ComputeProfile{full} // a double-memory 1g with SMs of its own
	}
	var out []driver.ComputeProfile
	for slices := 1; slices < p.ComputeSlices; slices++ {
		if id, ok := computeIDs[slices]; ok {
			out = append(out, driver.ComputeProfile{ID: id, Slices: slices, SMs: p.SMs * slices / p.ComputeSlices})
		}
	}
	return append(out, full)
}

// ComputeProfiles lists what a slice supports.
func (n *Node) ComputeProfiles(ctx context.Context, gpu string, gi int) ([]driver.ComputeProfile, error) {
	var out []driver.ComputeProfile
	err := n.on(ctx, gpu, func(c *card) error {
		i, err := c.find(gi)
		if err == nil {
			out = computeProfiles(c.profile(c.state.Instances[i].ProfileID))
		}
		return err
	})
	return out, err
}

// CreateCompute makes a compute instance.
func (n *Node) CreateCompute(ctx context.Context, gpu string, gi, profileID int) (int, error) {
	id := 0
	err := n.on(ctx, gpu, func(c *card) error {
		var err error
		id, err = c.createCompute(gi, profileID)
		return err
	})
	return id, err
}

func (c *card) createCompute(gi, profileID int) (int, error) {
	at, err := c.find(gi)
	if err != nil {
		return 0, err
	}
	in := &c.state.Instances[at]
	p := c.profile(in.ProfileID)
	offered := computeProfiles(p)
	want := slices.IndexFunc(offered, func(cp driver.ComputeProfile) bool { return cp.ID == profileID })
	if want < 0 {
		return 0, fmt.Errorf("compute profile %d in %s: %w", profileID, p.Name, driver.ErrNotSupported)
	}
	used := offered[want].Slices
	taken := map[int]bool{}
	for _, ci := range in.Compute {
		taken[ci.ID] = true
		for _, cp := range offered {
			if cp.ID == ci.ProfileID {
				used += cp.Slices
			}
		}
	}
	if used > p.ComputeSlices {
		return 0, fmt.Errorf("compute profile %d in %s: %w", profileID, p.Name, driver.ErrNoRoom)
	}
	id := 0
	for taken[id] {
		id++
	}
	in.Compute = append(in.Compute, compute{ID: id, ProfileID: profileID, UUID: newUUID("MIG")})
	return id, nil
}

// DestroyCompute removes a compute instance that no process holds.
func (n *Node) DestroyCompute(ctx context.Context, gpu string, gi, ci int) error {
	return n.on(ctx, gpu, func(c *card) error {
		at, err := c.find(gi)
		if err != nil {
			return err
		}
		in := &c.state.Instances[at]
		i := slices.IndexFunc(in.Compute, func(x compute) bool { return x.ID == ci })
		if i < 0 {
			return fmt.Errorf("compute instance %d of %d: %w", ci, gi, driver.ErrNotFound)
		}
		if len(c.state.Clients[in.Compute[i].UUID]) > 0 {
			return fmt.Errorf("compute instance %d of %d: %w", ci, gi, driver.ErrInUse)
		}
		in.Compute = slices.Delete(in.Compute, i, i+1)
		return nil
	})
}

// Opened notes that holder uses a card or a slice, as a process that opened it would show.
func (n *Node) Opened(ctx context.Context, device, holder string) error {
	return n.holding(ctx, device, func(c *card) error {
		whole := device == c.id.UUID
		if whole && c.state.Mode == driver.ModeOn {
			return fmt.Errorf("a card in MIG mode runs nothing as a whole: %w", driver.ErrNotSupported)
		}
		if !slices.Contains(c.state.Clients[device], holder) {
			c.state.Clients[device] = append(c.state.Clients[device], holder)
		}
		return nil
	})
}

// Closed notes that holder is gone.
func (n *Node) Closed(ctx context.Context, device, holder string) error {
	return n.holding(ctx, device, func(c *card) error {
		left := slices.DeleteFunc(c.state.Clients[device], func(h string) bool { return h == holder })
		if c.state.Clients[device] = left; len(left) == 0 {
			delete(c.state.Clients, device)
		}
		return nil
	})
}

func (n *Node) holding(ctx context.Context, device string, fn func(c *card) error) error {
	for _, c := range n.cards {
		c.mu.Lock()
		mine := c.has(device)
		c.mu.Unlock()
		if mine {
			return n.on(ctx, c.id.UUID, fn)
		}
	}
	return fmt.Errorf("device %s: %w", device, driver.ErrNotFound)
}

func (c *card) has(device string) bool {
	return device == c.id.UUID || slices.ContainsFunc(c.state.Instances, func(i instance) bool {
		return slices.ContainsFunc(i.Compute, func(ci compute) bool { return ci.UUID == device })
	})
}
