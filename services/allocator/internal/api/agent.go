package api

import (
	"context"
	"time"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/services/allocator/internal/api/agentgen"
	"github.com/weirhq/weir/services/allocator/internal/app"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// PutMemberReports merges what a node's members really do. The node is the one in the
// token, never one named in the body.
func (h agents) PutMemberReports(ctx context.Context, r agentgen.PutMemberReportsRequestObject) (agentgen.PutMemberReportsResponseObject, error) {
	report := domain.Report{Node: actor.From(ctx).ID, Boot: r.Body.BootID, Seq: r.Body.Seq, Full: r.Body.Full}
	for _, o := range r.Body.Members {
		report.Members = append(report.Members, observed(o))
	}
	out, err := h.app.Report(ctx, report)
	if err != nil {
		return nil, err
	}
	answer := agentgen.PutMemberReports200JSONResponse{Seq: out.Seq, Acknowledged: out.Acknowledged, NewBootCleared: out.NewBootCleared}
	if answer.Acknowledged == nil {
		answer.Acknowledged = []string{}
	}
	return answer, nil
}

func observed(o agentgen.Observed) domain.Observed {
	out := domain.Observed{Member: o.Member, State: domain.ObservedState(o.State), Reason: o.Reason, Detail: o.Detail, ExitCode: o.ExitCode,
		RunningAge: age(o.RunningAgeMs), EndedAge: age(o.EndedAgeMs), Released: o.Released, Cleaning: domain.Cleaning(o.Cleaning)}
	for _, s := range o.Seats {
		seat := domain.ObservedSeat{Seat: s.Seat, GPUUUID: s.GPUUUID, Kind: domain.Kind(s.Kind), Profile: value(s.Profile), Start: s.Start, Size: s.Size,
			Live: domain.Live{DeviceUUID: value(s.DeviceUUID), GI: s.GI, CI: s.CI, SMs: s.Sms}}
		if s.MemoryMib != nil {
			mib := int64(*s.MemoryMib)
			seat.Live.MemoryMiB = &mib
		}
		out.Seats = append(out.Seats, seat)
	}
	return out
}

// maxAge bounds an age: older than anything that runs, and safe as a duration.
const maxAge = 100 * 365 * 24 * time.Hour

func age(ms *int64) *time.Duration {
	if ms == nil {
		return nil
	}
	d := maxAge
	if *ms < maxAge.Milliseconds() {
		d = time.Duration(*ms) * time.Millisecond
	}
	return &d
}

// GetDesired is what the node shall do, once it is something new.
func (h agents) GetDesired(ctx context.Context, r agentgen.GetDesiredRequestObject) (agentgen.GetDesiredResponseObject, error) {
	d, err := h.app.Desired(ctx, actor.From(ctx).ID, value(r.Params.Incarnation), r.Params.Generation, time.Duration(value(r.Params.Wait))*time.Second)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return agentgen.GetDesired204Response{}, nil
	}
	out := agentgen.GetDesired200JSONResponse{Incarnation: d.Incarnation, Generation: d.Generation, Members: []agentgen.DesiredMember{}}
	for _, m := range d.Members {
		out.Members = append(out.Members, h.desired(m))
	}
	return out, nil
}

func (h agents) desired(m app.DesiredMember) agentgen.DesiredMember {
	prepareBy := m.PrepareBy
	w := agentgen.DesiredMember{Member: m.Member, Instance: m.Instance, Action: agentgen.DesiredMemberAction(m.Action), PrepareBy: &prepareBy,
		Cause: orNil(agentgen.StopCause(m.Cause)), Seats: []agentgen.DesiredSeat{}, VcpusMilli: m.VCPUsMilli, RAMMib: m.RAMMiB, Image: orNil(m.Image),
		Command: m.Command, Env: m.Env, LogLimitMib: h.logLimit}
	if w.Command == nil {
		w.Command = []string{}
	}
	if w.Env == nil {
		w.Env = map[string]string{}
	}
	for _, s := range m.Seats {
		seat := agentgen.DesiredSeat{Seat: s.Seat, GPUUUID: s.GPUUUID, Kind: agentgen.SeatKind(s.Kind)}
		if s.Kind == domain.MIG {
			start, size := s.Start, s.Size
			seat.Profile, seat.Start, seat.Size = orNil(s.Profile), &start, &size
		}
		w.Seats = append(w.Seats, seat)
	}
	return w
}

// PutGoingDown ends what runs on a node that is switched off on purpose.
func (h agents) PutGoingDown(ctx context.Context, r agentgen.PutGoingDownRequestObject) (agentgen.PutGoingDownResponseObject, error) {
	if err := h.app.GoingDown(ctx, actor.From(ctx).ID, r.Body.BootID); err != nil {
		return nil, err
	}
	return agentgen.PutGoingDown204Response{}, nil
}
