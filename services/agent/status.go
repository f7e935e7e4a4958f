package agent

import (
	"context"
	"errors"
	"time"

	"github.com/weirhq/weir/pkg/api/agentapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/agent/driver"
	"github.com/weirhq/weir/services/agent/internal/carve"
)

const (
	statusEvery   = 10 * time.Second
	statusSpacing = 250 * time.Millisecond // a burst of changes is one status
)

// statusLoop tells the node's facts every ten seconds and on change.
func (a *Agent) statusLoop(ctx context.Context) error {
	client, err := a.connected(ctx)
	if err != nil {
		return err
	}
	every := statusEvery
	for try := 0; ; {
		wait := every
		status, err := a.status(ctx)
		if err == nil {
			var answer *agentapi.StatusAnswer
			if answer, err = client.Status(ctx, status); err == nil {
				every = time.Duration(max(1, answer.IntervalSeconds)) * time.Second
				wait = every
				if a.pace.Swap(int64(every)) != int64(every) {
					a.askFull() // what it waits for next was measured by the old pace
				}
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			try = 0
			a.answered()
		case errors.Is(err, fault.Conflict):
			// Somebody newer speaks for this boot: a clone of this node, or our own call that overtook this one.
			a.cfg.Log.Warn("status refused as stale", "error", err)
		default:
			wait = min(every, a.backoff(try))
			try++
			a.cfg.Log.Warn("status not sent", "error", err, "wait", wait)
		}
		if err := a.rest(ctx, wait); err != nil {
			return err
		}
	}
}

// rest waits for d, or less when the layout changed.
func (a *Agent) rest(ctx context.Context, d time.Duration) error {
	expired := a.cfg.Clock.After(d)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-expired:
		return nil
	case <-a.engine.LayoutChanged():
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-a.cfg.Clock.After(statusSpacing):
		return nil
	case <-expired:
		return nil
	}
}

func (a *Agent) status(ctx context.Context) (agentapi.NodeStatus, error) {
	cards, err := a.engine.Cards(ctx)
	if err != nil {
		return agentapi.NodeStatus{}, err
	}
	facts := a.cfg.Runtime.Facts()
	counters := a.engine.Counters()
	s := agentapi.NodeStatus{
		BootID: a.engine.CurrentBoot(), Seq: a.statusSeq.next(a.cfg.BootClock()), Protocol: Protocol, AgentVersion: a.cfg.Version,
		Simulated: a.cfg.Driver.Simulated(), Hostname: a.facts.Hostname, VcpusMilli: a.facts.VCPUsMilli, RAMMib: a.facts.RAMMiB,
		DiskMib: a.facts.DiskMiB, At: a.cfg.Clock.Now(), Cards: make([]agentapi.Card, 0, len(cards)), Counters: &counters,
		Runtime: &agentapi.RuntimeFacts{Name: facts.Name, Isolation: agentapi.RuntimeFactsIsolation(facts.Isolation)},
	}
	if len(facts.Missing) > 0 {
		s.Runtime.Missing = &facts.Missing
	}
	if a.engine.LowDisk() {
		s.RefusingWork = ptr("disk_full")
	}
	for _, c := range cards {
		s.Cards = append(s.Cards, card(c, a.engine.Layout(ctx, c.UUID)))
	}
	return s, nil
}

func card(c driver.Card, layout []carve.LayoutEntry) agentapi.Card {
	out := agentapi.Card{
		Index: c.Index, UUID: c.UUID, Serial: c.Serial, Board: c.Board, Product: c.Product, Arch: c.Arch, MemoryMib: c.MemoryMiB,
		Sms: c.SMs, Units: c.Geometry.Units, MIGMode: agentapi.CardMIGMode(c.Mode), ResetToToggle: c.ResetToToggle, State: agentapi.Ok,
		Profiles: make([]agentapi.Profile, 0, len(c.Geometry.Profiles)), Layout: make([]agentapi.LayoutEntry, 0, len(layout)),
		TemperatureC: c.TemperatureC, PowerW: c.PowerW,
	}
	if c.Lost {
		out.State = agentapi.Lost
	}
	if c.Policy != "" {
		out.Policy = ptr(agentapi.CardPolicy(c.Policy))
	}
	for _, p := range c.Geometry.Profiles {
		out.Profiles = append(out.Profiles, agentapi.Profile{Name: p.Name, ID: p.ID, CIProfileID: p.CIProfileID, MemoryMib: p.MemoryMiB,
			Sms: p.SMs, ComputeSlices: p.ComputeSlices, Size: p.Size, Starts: p.Starts})
	}
	for _, l := range layout {
		e := agentapi.LayoutEntry{Start: l.Start, Size: l.Size, Profile: l.Profile, DeviceUUID: l.Device, Foreign: l.Foreign}
		if l.Member != "" {
			e.Member = ptr(l.Member)
		}
		out.Layout = append(out.Layout, e)
	}
	return out
}

func ptr[T any](v T) *T { return &v }
