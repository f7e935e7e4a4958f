package simgpu

import (
	"context"
	"fmt"
	"slices"

	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent/driver"
)

// on runs fn on a card as a driver call: slowed, wedged or lost when a fault says so, and saved when it succeeds.
func (n *Node) on(ctx context.Context, gpu string, fn func(c *card) error) error {
	i := slices.IndexFunc(n.cards, func(c *card) bool { return c.id.UUID == gpu })
	if i < 0 {
		return fmt.Errorf("card %s: %w", gpu, driver.ErrNotFound)
	}
	if err := n.suffer(ctx); err != nil {
		return err
	}
	c := n.cards[i]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Lost {
		return fmt.Errorf("card %d: %w", c.index, driver.ErrLost)
	}
	before := c.state.clone()
	if err := fn(c); err != nil {
		c.state = before
		return fmt.Errorf("card %d: %w", c.index, err)
	}
	if err := write(cardPath(n.dir, c.index), c.state, false); err != nil {
		c.state = before
		return err
	}
	return nil
}

func (n *Node) suffer(ctx context.Context) error {
	n.mu.Lock()
	delay, wedged := n.delay, n.wedged
	n.mu.Unlock()
	if wedged != nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wedged:
		}
	}
	if delay > 0 {
		return clock.Sleep(ctx, n.clock, delay)
	}
	return ctx.Err()
}

// Instances reads what is on a card.
func (n *Node) Instances(ctx context.Context, gpu string) ([]driver.Instance, error) {
	var out []driver.Instance
	err := n.on(ctx, gpu, func(c *card) error {
		for _, i := range c.state.Instances {
			out = append(out, c.describe(i))
		}
		return nil
	})
	return out, err
}

func (c *card) describe(i instance) driver.Instance {
	p := c.profile(i.ProfileID)
	d := driver.Instance{ID: i.ID, ProfileID: i.ProfileID, Profile: p.Name, Placement: i.placement()}
	for _, ci := range i.Compute {
		sms := p.SMs
		for _, cp := range computeProfiles(p) {
			if cp.ID == ci.ProfileID {
				sms = cp.SMs
			}
		}
		d.Compute = append(d.Compute, driver.Compute{ID: ci.ID, ProfileID: ci.ProfileID, UUID: ci.UUID, SMs: sms, MemoryMiB: p.MemoryMiB})
	}
	return d
}

func (c *card) profile(id int) mig.Profile {
	for _, p := range c.board.Profiles {
		if p.ID == id {
			return p
		}
	}
	return mig.Profile{}
}

// SetMIGMode switches an idle card.
func (n *Node) SetMIGMode(ctx context.Context, gpu string, on bool) error {
	return n.on(ctx, gpu, func(c *card) error {
		want := driver.ModeOff
		if on {
			want = driver.ModeOn
		}
		switch {
		case c.board.Units == 0:
			return driver.ErrNotSupported
		case c.state.Mode == want:
			return nil
		case c.board.ResetToToggle:
			return fmt.Errorf("the mode of this card takes a reset: %w", driver.ErrNotSupported)
		case len(c.state.Clients) > 0 || len(c.state.Instances) > 0:
			return driver.ErrInUse
		}
		c.state.Mode = want
		return nil
	})
}

// CreateInstance cuts a slice.
func (n *Node) CreateInstance(ctx context.Context, gpu string, profileID int, at mig.Placement) (int, error) {
	id := 0
	err := n.on(ctx, gpu, func(c *card) error {
		if c.failNext > 0 {
			c.failNext--
			return fmt.Errorf("injected: %w", driver.ErrNoRoom)
		}
		var err error
		id, err = c.create(profileID, at, false)
		return err
	})
	return id, err
}

func (c *card) create(profileID int, at mig.Placement, foreign bool) (int, error) {
	if c.state.Mode != driver.ModeOn {
		return 0, fmt.Errorf("MIG mode is %s: %w", c.state.Mode, driver.ErrNotSupported)
	}
	p := c.profile(profileID)
	if p.Name == "" || !c.board.Geometry().Legal(p.Name, at) {
		return 0, fmt.Errorf("profile %d at %d:%d: %w", profileID, at.Start, at.Size, driver.ErrInvalid)
	}
	same, media := 0, 0
	for _, i := range c.state.Instances {
		if at.Overlaps(i.placement()) {
			return 0, fmt.Errorf("%s at %d: %w", p.Name, at.Start, driver.ErrNoRoom)
		}
		if i.ProfileID == profileID {
			same++
		}
		if c.profile(i.ProfileID).Media {
			media++
		}
	}
	if p.Max > 0 && same >= p.Max || p.Media && media > 0 {
		return 0, fmt.Errorf("no further %s: %w", p.Name, driver.ErrNoRoom)
	}
	id := mig.GIID(c.board.Units, at)
	c.state.Instances = append(c.state.Instances, instance{ID: id, ProfileID: profileID, Start: at.Start, Size: at.Size, Foreign: foreign})
	return id, nil
}

// DestroyInstance removes a slice that holds no compute instance.
func (n *Node) DestroyInstance(ctx context.Context, gpu string, gi int) error {
	return n.on(ctx, gpu, func(c *card) error {
		i, err := c.find(gi)
		if err != nil {
			return err
		}
		if len(c.state.Instances[i].Compute) > 0 {
			return fmt.Errorf("GPU instance %d holds a compute instance: %w", gi, driver.ErrInUse)
		}
		c.state.Instances = slices.Delete(c.state.Instances, i, i+1)
		return nil
	})
}

func (c *card) find(gi int) (int, error) {
	i := slices.IndexFunc(c.state.Instances, func(i instance) bool { return i.ID == gi })
	if i < 0 {
		return 0, fmt.Errorf("GPU instance %d: %w", gi, driver.ErrNotFound)
	}
	return i, nil
}

func (f cardFile) clone() cardFile {
	f.Instances = slices.Clone(f.Instances)
	for i := range f.Instances {
		f.Instances[i].Compute = slices.Clone(f.Instances[i].Compute)
	}
	clients := make(map[string][]string, len(f.Clients))
	for k, v := range f.Clients {
		clients[k] = slices.Clone(v)
	}
	f.Clients = clients
	return f
}
