package agent

import (
	"context"
	"time"

	"github.com/weirhq/weir/pkg/api/agentapi"
	"github.com/weirhq/weir/services/agent/internal/carve"
	"github.com/weirhq/weir/services/agent/internal/link"
)

const (
	reportEvery = 5 * time.Second
	maxMembers  = 4096 // of one report
	maxDetail   = 1000
)

// reportPause is how long the agent keeps silent about members that do not change: a
// control plane with a short time-out for nodes hears more often.
func (a *Agent) reportPause() time.Duration {
	if pace := time.Duration(a.pace.Load()); pace > 0 {
		return min(pace, reportEvery)
	}
	return reportEvery
}

// reportLoop tells what members do: changes at once, everything every few seconds. The first report of a boot is a full
// one, and desired is not asked before it is answered.
func (a *Agent) reportLoop(ctx context.Context) error {
	client, err := a.connected(ctx)
	if err != nil {
		return err
	}
	r := &reporter{Agent: a, client: client, told: map[string]uint64{}}
	due := a.cfg.Clock.After(a.reportPause())
	for full, try := true, 0; ; {
		if err := r.send(ctx, full); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			wait := min(reportEvery, a.backoff(try))
			try++
			a.cfg.Log.Warn("report not sent", "error", err, "wait", wait)
			full = true
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-a.cfg.Clock.After(wait):
			}
			continue
		}
		try = 0
		if full {
			due = a.cfg.Clock.After(a.reportPause())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.engine.Changed():
			full = false
		case <-a.fullNow:
			full = true
		case <-due:
			full = true
		}
	}
}

// reporter remembers what it has told.
type reporter struct {
	*Agent
	client *link.Client
	told   map[string]uint64 // member → version answered for
}

func (r *reporter) send(ctx context.Context, full bool) error {
	incarnation, generation := r.book.Desired()
	observed := r.engine.Observe()
	report := agentapi.Report{BootID: r.engine.CurrentBoot(), Full: full, Members: []agentapi.Observed{}}
	if incarnation != "" {
		report.Incarnation, report.Generation = &incarnation, &generation
	}
	released := map[string]bool{}
	sent := map[string]uint64{}
	for _, o := range observed {
		if !full && r.told[o.ID] >= o.Version {
			continue
		}
		if len(report.Members) == maxMembers {
			report.Full = false // the rest follows with the next one
			break
		}
		report.Members = append(report.Members, wire(o))
		sent[o.ID], released[o.ID] = o.Version, o.Released
	}
	if !full && len(report.Members) == 0 {
		return nil
	}
	report.Seq = r.reportSeq.next(r.cfg.BootClock())
	answer, err := r.client.Report(ctx, report)
	if err != nil {
		return err
	}
	r.answered()
	for id, v := range sent {
		r.told[id] = v
	}
	return r.taken(report.Full, incarnation, released, answer)
}

// taken acts on an answer: forget what is on record there, and let go what waited for it.
func (r *reporter) taken(full bool, incarnation string, released map[string]bool, answer *agentapi.ReportAnswer) error {
	var forget []string
	for _, id := range answer.Acknowledged {
		if released[id] { // it must have been told of the release, not only of the end
			forget = append(forget, id)
		}
	}
	if err := r.engine.Acknowledge(forget); err != nil {
		return err
	}
	for _, id := range forget {
		delete(r.told, id)
	}
	if !full {
		return nil
	}
	if r.engine.FirstReportDue() {
		r.cfg.Log.Info("first report of this boot answered", "seats_cleared", answer.NewBootCleared)
		if err := r.engine.FirstReportAnswered(); err != nil {
			return err
		}
	}
	r.firstOnce.Do(func() { close(r.firstReport) })
	r.engine.FullReportAnswered(incarnation)
	return nil
}

func wire(o carve.Observed) agentapi.Observed {
	out := agentapi.Observed{
		Member: o.ID, Instance: o.Instance, State: agentapi.ObservedState(o.Reported), Reason: o.Reason, Detail: o.Detail,
		Released: o.Released, Cleaning: agentapi.ObservedCleaning(o.Cleaning), ExitCode: o.ExitCode, Seats: make([]agentapi.ObservedSeat, 0, len(o.Seats)),
	}
	if len(out.Detail) > maxDetail {
		out.Detail = out.Detail[:maxDetail]
	}
	if o.RunningAge != nil {
		out.RunningAgeMs = ptr(o.RunningAge.Milliseconds())
	}
	if o.EndedAge != nil {
		out.EndedAgeMs = ptr(o.EndedAge.Milliseconds())
	}
	if o.PID > 0 {
		out.Pid = ptr(int64(o.PID))
	}
	for _, s := range o.Seats {
		out.Seats = append(out.Seats, seat(s))
	}
	return out
}

func seat(s carve.Seat) agentapi.ObservedSeat {
	out := agentapi.ObservedSeat{Seat: s.ID, GPUUUID: s.GPU, Kind: agentapi.SeatKind(s.Kind), GI: s.GI, CI: s.CI}
	if s.Kind == carve.MIG {
		out.Profile, out.Start, out.Size = ptr(s.Profile), ptr(s.Start), ptr(s.Size)
	}
	if s.Device != "" {
		out.DeviceUUID, out.Sms, out.MemoryMib = ptr(s.Device), ptr(s.SMs), ptr(s.MemoryMiB)
	}
	return out
}
