package agent

import (
	"context"
	"time"

	"github.com/weirhq/weir/pkg/api/agentapi"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent/internal/carve"
)

const (
	pollFor     = 20 * time.Second
	pollSpacing = time.Second // between polls that brought nothing, should the server not wait
)

// desiredLoop long-polls for what to run. The first poll of a process asks for everything: the commands of members that
// have not started are not kept on disk.
func (a *Agent) desiredLoop(ctx context.Context) error {
	client, err := a.connected(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-a.firstReport:
	}
	incarnation, generation := "", int64(0)
	for try := 0; ; {
		begun := a.cfg.BootClock()
		d, err := client.Desired(ctx, incarnation, generation, pollFor)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait := time.Duration(0)
		switch {
		case err != nil:
			wait = a.backoff(try)
			try++
			a.cfg.Log.Warn("desired state not read", "error", err, "wait", wait)
		case d == nil:
			try = 0
			a.answered()
			if a.cfg.BootClock()-begun < pollSpacing {
				wait = pollSpacing
			}
		default:
			try = 0
			a.answered()
			if a.goingDown.Load() {
				return nil // what it wants now is for the next boot
			}
			if d.Incarnation == incarnation && d.Generation == generation {
				wait = pollSpacing // nothing new, and still an answer
			}
			if a.engine.Apply(desired(*d)) {
				incarnation, generation = d.Incarnation, d.Generation
			} else {
				wait = pollSpacing
			}
			if a.engine.Braked() != "" {
				a.askFull()
			}
		}
		if wait > 0 {
			if err := clock.Sleep(ctx, a.cfg.Clock, wait); err != nil {
				return err
			}
		}
	}
}

// askFull has a full report sent at once.
func (a *Agent) askFull() {
	select {
	case a.fullNow <- struct{}{}:
	default:
	}
}

func desired(d agentapi.Desired) carve.Desired {
	out := carve.Desired{Incarnation: d.Incarnation, Generation: d.Generation}
	for _, m := range d.Members {
		w := carve.Want{Member: m.Member, Instance: m.Instance, Stop: m.Action == agentapi.Stop, Command: m.Command, Env: m.Env,
			VCPUsMilli: m.VcpusMilli, RAMMiB: m.RAMMib, LogLimitMiB: m.LogLimitMib}
		if !w.Stop && m.Action != agentapi.Run {
			continue // an action of a later protocol: doing nothing is what is safe
		}
		if m.Cause != nil {
			w.Cause = carve.Cause(*m.Cause)
		}
		if m.Image != nil {
			w.Image = *m.Image
		}
		for _, s := range m.Seats {
			seat := carve.Seat{ID: s.Seat, GPU: s.GPUUUID, Kind: carve.Kind(s.Kind)}
			if s.Profile != nil {
				seat.Profile = *s.Profile
			}
			if s.Start != nil {
				seat.Start = *s.Start
			}
			if s.Size != nil {
				seat.Size = *s.Size
			}
			w.Seats = append(w.Seats, seat)
		}
		out.Members = append(out.Members, w)
	}
	return out
}
