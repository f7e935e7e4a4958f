package simgpu

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/services/agent/driver"
)

// Slow makes every driver call take d longer; 0 ends it.
func (n *Node) Slow(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = d
}

// Wedge makes every driver call hang until Heal or the end of its context.
func (n *Node) Wedge() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wedged == nil {
		n.wedged = make(chan struct{})
	}
}

// FailNextCreate makes the next creation of a slice fail: on one card by index, or, with -1, on every card.
func (n *Node) FailNextCreate(gpu int) error {
	return n.each(gpu, func(c *card) error {
		c.failNext++
		return nil
	})
}

// Lose makes a card fall off the bus; with -1, every card.
func (n *Node) Lose(gpu int) error {
	return n.each(gpu, func(c *card) error {
		c.state.Lost = true
		return write(cardPath(n.dir, c.index), c.state, false)
	})
}

// harmlessXids are errors of one program, or corrected ones: the card goes on.
var harmlessXids = []int{13, 31, 43, 45, 63, 68, 92, 94, 121}

// Xid raises an Xid on a card. One that NVIDIA's catalog answers with a reset, or a worse one, loses the card.
func (n *Node) Xid(gpu, xid int) error {
	if xid < 1 || xid > 999 {
		return fmt.Errorf("xid %d: %w", xid, driver.ErrInvalid)
	}
	if slices.Contains(harmlessXids, xid) {
		return n.each(gpu, func(*card) error { return nil })
	}
	return n.Lose(gpu)
}

// ForeignMIG cuts a slice, smallest profile first, that this agent did not make. A card that is not in MIG mode is put in
// it when it is idle.
func (n *Node) ForeignMIG(gpu int) error {
	if gpu < 0 {
		gpu = 0
	}
	return n.each(gpu, func(c *card) error {
		before := c.state.clone()
		if c.state.Mode != driver.ModeOn {
			if c.board.Units == 0 || len(c.state.Clients) > 0 {
				return fmt.Errorf("card %d cannot be put in MIG mode now: %w", c.index, driver.ErrInUse)
			}
			c.state.Mode = driver.ModeOn
		}
		if err := c.createForeign(); err != nil {
			c.state = before
			return err
		}
		return write(cardPath(n.dir, c.index), c.state, false)
	})
}

func (c *card) createForeign() error {
	var occupied []mig.Placement
	for _, i := range c.state.Instances {
		occupied = append(occupied, i.placement())
	}
	geometry := c.board.Geometry()
	profiles := slices.Clone(geometry.Profiles)
	slices.SortStableFunc(profiles, func(a, b mig.Profile) int { return a.Size - b.Size })
	for _, p := range profiles {
		starts := geometry.Fits(occupied, p)
		if !p.Plain() || len(starts) == 0 {
			continue
		}
		gi, err := c.create(p.ID, mig.Placement{Start: starts[len(starts)-1], Size: p.Size}, true)
		if err != nil {
			return err
		}
		_, err = c.createCompute(gi, p.CIProfileID)
		return err
	}
	return fmt.Errorf("card %d is full: %w", c.index, driver.ErrNoRoom)
}

// Heal ends every fault: cards come back and foreign slices are gone.
func (n *Node) Heal() error {
	n.mu.Lock()
	n.delay = 0
	if n.wedged != nil {
		close(n.wedged)
		n.wedged = nil
	}
	n.mu.Unlock()
	return n.each(-1, func(c *card) error {
		c.failNext, c.state.Lost = 0, false
		c.state.Instances = slices.DeleteFunc(c.state.Instances, func(i instance) bool { return i.Foreign })
		return write(cardPath(n.dir, c.index), c.state, false)
	})
}

func (n *Node) each(gpu int, fn func(c *card) error) error {
	if gpu >= len(n.cards) {
		return fmt.Errorf("card %d: %w", gpu, driver.ErrNotFound)
	}
	for _, c := range n.cards {
		if gpu >= 0 && c.index != gpu {
			continue
		}
		c.mu.Lock()
		err := fn(c)
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
