package simnode

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/agent/driver"
)

// Fault is what to do to a node, in the words of POST /v1/admin/sim/nodes/{name}/faults.
type Fault struct {
	Kind      string // xid, lose_gpu, slow, fail_next_create, wedge, hang_container, reboot, cut, heal, foreign_mig
	GPU       *int   // index; absent: every card (foreign_mig: the first)
	Xid       int
	Seconds   int // heals by itself after; for slow: the delay per call
	Direction Direction
}

// Injected is a fault that was done.
type Injected struct {
	ID   string
	Kind string
}

const maxSeconds = 24 * 3600

// Inject does a fault. It returns once the fault is in force; a reboot, once the node is on its way up again.
func (h *Host) Inject(ctx context.Context, f Fault) (Injected, error) {
	if f.Seconds < 0 || f.Seconds > maxSeconds {
		return Injected{}, fault.InvalidField("seconds", fmt.Sprintf("must be 0 to %d", maxSeconds))
	}
	if err := h.inject(ctx, f); err != nil {
		return Injected{}, blame(err)
	}
	h.wake()
	if f.Seconds > 0 {
		h.healAfter(f.Kind, time.Duration(f.Seconds)*time.Second)
	}
	h.cfg.Log.Info("fault injected", "kind", f.Kind)
	return Injected{ID: id.New(id.Fault, h.cfg.Clock.Now()), Kind: f.Kind}, nil
}

func (h *Host) inject(ctx context.Context, f Fault) error {
	gpu := -1
	if f.GPU != nil {
		if gpu = *f.GPU; gpu < 0 {
			return fault.InvalidField("gpu", "must be the index of a card")
		}
	}
	switch f.Kind {
	case "cut":
		return h.cut(f.Direction)
	case "heal":
		return h.heal()
	case "reboot":
		return h.turn(ctx, true)
	case "hang_container":
		h.runtime.deaf.Store(true)
		return nil
	case "slow":
		if f.Seconds == 0 {
			return fault.InvalidField("seconds", "must say how long each call takes")
		}
		h.cards.Slow(time.Duration(f.Seconds) * time.Second)
		return nil
	case "wedge":
		h.cards.Wedge()
		return nil
	case "fail_next_create":
		return h.cards.FailNextCreate(gpu)
	case "foreign_mig":
		return h.cards.ForeignMIG(gpu)
	case "lose_gpu":
		return h.cards.Lose(gpu)
	case "xid":
		if f.Xid < 1 || f.Xid > 999 {
			return fault.InvalidField("xid", "must be 1 to 999")
		}
		return h.cards.Xid(gpu, f.Xid)
	}
	return fault.InvalidField("kind", fmt.Sprintf("%q is not a fault of this version", f.Kind))
}

func (h *Host) cut(d Direction) error {
	switch d {
	case "":
		d = Both
	case Both, In, Out:
	default:
		return fault.InvalidField("direction", "must be both, in or out")
	}
	h.net.cut(d)
	return nil
}

// heal ends every fault.
func (h *Host) heal() error {
	h.stopTimers()
	h.net.heal()
	h.runtime.deaf.Store(false)
	return h.cards.Heal()
}

func (h *Host) wake() {
	if a := h.running(); a != nil {
		a.Wake()
	}
}

// healAfter ends one kind of fault by itself. Faults of cards heal together.
func (h *Host) healAfter(kind string, d time.Duration) {
	var cure func() error
	switch kind {
	case "cut":
		cure = func() error { h.net.heal(); return nil }
	case "hang_container":
		cure = func() error { h.runtime.deaf.Store(false); return nil }
	case "wedge", "lose_gpu", "xid", "foreign_mig", "fail_next_create":
		cure = h.cards.Heal
	default:
		return // the seconds of slow are its delay; the others are over once done
	}
	stop := make(chan struct{})
	h.mu.Lock()
	h.heals = append(h.heals, stop)
	h.mu.Unlock()
	expired := h.cfg.Clock.After(d)
	go func() {
		select {
		case <-stop:
		case <-expired:
			if err := cure(); err != nil {
				h.cfg.Log.Error("node not healed", "kind", kind, "error", err)
			}
			h.wake()
		}
	}()
}

func (h *Host) stopTimers() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, stop := range h.heals {
		close(stop)
	}
	h.heals = nil
}

// blame says in the words of the REST contract what was wrong with a fault.
func blame(err error) error {
	switch {
	case errors.Is(err, driver.ErrNotFound):
		return fault.InvalidField("gpu", "is no card of this node")
	case errors.Is(err, driver.ErrInUse), errors.Is(err, driver.ErrNoRoom), errors.Is(err, driver.ErrLost):
		return fault.Wrap(fault.Conflict, "The card cannot take this fault now: "+err.Error()+".", err)
	}
	return err
}
