package store

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

func opt(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// utc: JSON gives instants in the machine's zone.
func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

func toInstance(i *domain.Instance) instanceRow {
	r := instanceRow{ID: i.ID, Org: i.Org, Project: opt(i.Project), Name: i.Name, State: string(i.State), StateReason: opt(i.Reason),
		StateDetail: opt(i.Detail), ExitCode: i.ExitCode, Offering: i.Offering, OfferingVersion: i.OfferingVersion, Kind: string(i.Kind),
		Count: i.Count, Nodes: i.Nodes, VCPUsMilli: i.VCPUsMilli, RAMMiB: i.RAMMiB, Image: opt(i.Image), Command: i.Command,
		Labels: i.Labels, PriceVersion: i.PriceVersion, PerHourMicro: int64(i.PerHour), Currency: i.Currency, Term: domain.OnDemand,
		CreatedByKind: i.CreatedBy.Kind, CreatedBy: i.CreatedBy.ID, CreatedAt: i.CreatedAt, RunningAt: i.RunningAt, StoppedAt: i.StoppedAt,
		DeleteAskedAt: i.DeleteAskedAt, DeletedAt: i.DeletedAt}
	if i.EnvSealed != nil {
		sealed := bytea(i.EnvSealed)
		r.EnvSealed = &sealed
	}
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	return r
}

func fromInstance(r instanceRow) *domain.Instance {
	i := &domain.Instance{ID: r.ID, Org: r.Org, Project: str(r.Project), Name: r.Name, State: domain.State(r.State), Reason: str(r.StateReason),
		Detail: str(r.StateDetail), ExitCode: r.ExitCode, Offering: r.Offering, OfferingVersion: r.OfferingVersion, Kind: domain.Kind(r.Kind),
		Count: r.Count, Nodes: r.Nodes, VCPUsMilli: r.VCPUsMilli, RAMMiB: r.RAMMiB, Image: str(r.Image), Command: r.Command, Labels: r.Labels,
		PriceVersion: r.PriceVersion, PerHour: money.Micro(r.PerHourMicro), Currency: r.Currency,
		CreatedBy: domain.Actor{Kind: r.CreatedByKind, ID: r.CreatedBy}, CreatedAt: r.CreatedAt.UTC(), RunningAt: utc(r.RunningAt), StoppedAt: utc(r.StoppedAt),
		DeleteAskedAt: utc(r.DeleteAskedAt), DeletedAt: utc(r.DeletedAt)}
	for _, m := range r.Members {
		member := fromMember(m)
		member.Project = i.Project
		i.Members = append(i.Members, member)
	}
	return i
}

func toMember(m *domain.Member) memberRow {
	return memberRow{ID: m.ID, Org: m.Org, Instance: m.Instance, Ordinal: m.Ordinal, Node: m.Node, State: string(m.State), Reason: opt(m.Reason),
		Detail: opt(m.Detail), ExitCode: m.ExitCode, Offering: m.Offering, OfferingVersion: m.OfferingVersion, Cards: m.Cards,
		GPUeMicro: m.GPUeMicro, VCPUsMilli: m.VCPUsMilli, RAMMiB: m.RAMMiB, PriceVersion: m.PriceVersion, PerHourMicro: int64(m.PerHour),
		Currency: m.Currency, AssignedAt: m.AssignedAt, PrepareBy: m.PrepareBy, RunningAt: m.RunningAt, Boot: opt(m.Boot), MeterFrom: m.MeterFrom,
		MeterUntil: m.MeterUntil, StopCause: opt(string(m.StopCause)), StopAskedAt: m.StopAskedAt, EndedAt: m.EndedAt, Counted: m.Counted,
		ReleasedAt: m.ReleasedAt, Ghost: m.Ghost}
}

func fromMember(r memberRow) *domain.Member {
	m := &domain.Member{ID: r.ID, Org: r.Org, Instance: r.Instance, Ordinal: r.Ordinal, Node: r.Node, NodeName: r.NodeName,
		State: domain.State(r.State), Reason: str(r.Reason), Detail: str(r.Detail), ExitCode: r.ExitCode, Offering: r.Offering,
		OfferingVersion: r.OfferingVersion, Cards: r.Cards, GPUeMicro: r.GPUeMicro, VCPUsMilli: r.VCPUsMilli, RAMMiB: r.RAMMiB,
		PriceVersion: r.PriceVersion, PerHour: money.Micro(r.PerHourMicro), Currency: r.Currency, AssignedAt: r.AssignedAt.UTC(),
		PrepareBy: r.PrepareBy.UTC(), RunningAt: utc(r.RunningAt), Boot: str(r.Boot), MeterFrom: utc(r.MeterFrom), MeterUntil: utc(r.MeterUntil),
		StopCause: domain.Cause(str(r.StopCause)), StopAskedAt: utc(r.StopAskedAt), EndedAt: utc(r.EndedAt), Counted: r.Counted,
		ReleasedAt: utc(r.ReleasedAt), Ghost: r.Ghost}
	for _, s := range r.Seats {
		m.Seats = append(m.Seats, fromSeat(s))
	}
	return m
}

func toSeat(s *domain.Seat) seatRow {
	r := seatRow{ID: s.ID, Org: s.Org, Member: s.Member, GPU: s.GPU, Kind: string(s.Kind), Share: s.Share, MemoryMiB: s.MemoryMiB,
		AssignedAt: s.AssignedAt, Boot: opt(s.Boot), ReleasedAt: s.ReleasedAt, Cleaning: opt(string(s.Cleaning)), ReleasedBy: opt(string(s.ReleasedBy))}
	switch s.Kind {
	case domain.Whole:
		r.Span = opt("(,)")
	case domain.MIG:
		start, size := s.Start, s.Size
		r.Span, r.Profile, r.Start, r.Size = opt(fmt.Sprintf("[%d,%d)", start, start+size)), opt(s.Profile), &start, &size
	}
	return r
}

func fromSeat(r seatRow) *domain.Seat {
	s := &domain.Seat{ID: r.ID, Org: r.Org, Member: r.Member, GPU: r.GPU, Kind: domain.Kind(r.Kind), Profile: str(r.Profile), Share: r.Share,
		MemoryMiB: r.MemoryMiB, AssignedAt: r.AssignedAt.UTC(), Boot: str(r.Boot), ReleasedAt: utc(r.ReleasedAt), Cleaning: domain.Cleaning(str(r.Cleaning)),
		ReleasedBy: domain.ReleasedBy(str(r.ReleasedBy))}
	if r.Start != nil && r.Size != nil {
		s.Start, s.Size = *r.Start, *r.Size
	}
	if r.Live != nil {
		s.Live = &domain.Live{DeviceUUID: r.Live.DeviceUUID, GI: r.Live.GI, CI: r.Live.CI, SMs: r.Live.SMs, MemoryMiB: r.Live.MemoryMiB}
	}
	return s
}

func toLive(s *domain.Seat, at time.Time) liveRow {
	return liveRow{Seat: s.ID, Org: s.Org, DeviceUUID: s.Live.DeviceUUID, GI: s.Live.GI, CI: s.Live.CI, SMs: s.Live.SMs, MemoryMiB: s.Live.MemoryMiB, At: at}
}

func toTransition(e domain.Event) transitionRow {
	return transitionRow{ID: e.ID, Org: e.Org, Instance: e.Instance, Member: opt(e.Member), At: e.At, State: string(e.State), Reason: opt(e.Reason),
		Detail: opt(e.Detail), ActorKind: e.Actor.Kind, Actor: e.Actor.ID, BillableFrom: e.BillableFrom, BillableUntil: e.BillableUntil}
}

func fromTransition(r transitionRow) domain.Event {
	return domain.Event{Seq: r.Seq, ID: r.ID, Org: r.Org, Instance: r.Instance, Member: str(r.Member), At: r.At.UTC(), State: domain.State(r.State),
		Reason: str(r.Reason), Detail: str(r.Detail), Actor: domain.Actor{Kind: r.ActorKind, ID: r.Actor}, BillableFrom: utc(r.BillableFrom),
		BillableUntil: utc(r.BillableUntil)}
}

func toUsage(org string, u domain.Usage) usageRow {
	return usageRow{Org: org, GPUeMicro: u.GPUeMicro, Instances: u.Instances, QueuedInstances: u.QueuedInstances, VCPUsMilli: u.VCPUsMilli, RAMMiB: u.RAMMiB}
}

func fromUsage(r usageRow) domain.Usage {
	return domain.Usage{GPUeMicro: r.GPUeMicro, Instances: r.Instances, QueuedInstances: r.QueuedInstances, VCPUsMilli: r.VCPUsMilli, RAMMiB: r.RAMMiB}
}

func toNodeUsage(u domain.NodeUsage) nodeUsageRow {
	return nodeUsageRow{Node: u.Node, VCPUsUsed: u.VCPUsUsed, VCPUsReported: u.VCPUsReported,
		RAMUsed: u.RAMUsed, RAMReported: u.RAMReported,
		Shrunk: u.VCPUsUsed > u.VCPUsReported || u.RAMUsed > u.RAMReported}
}

func toOrphan(o *domain.Orphan) orphanRow {
	return orphanRow{ID: o.ID, Node: o.Node, GPUUUID: o.GPUUUID, Member: o.Member, Boot: o.Boot, Kind: string(o.Kind), Profile: opt(o.Profile),
		Start: o.Start, Size: o.Size, FoundAt: o.FoundAt, ReleasedAt: o.ReleasedAt}
}

func fromOrphan(r orphanRow) *domain.Orphan {
	return &domain.Orphan{ID: r.ID, Node: r.Node, GPUUUID: r.GPUUUID, Member: r.Member, Boot: r.Boot, Kind: domain.Kind(r.Kind),
		Profile: str(r.Profile), Start: r.Start, Size: r.Size, FoundAt: r.FoundAt.UTC(), ReleasedAt: utc(r.ReleasedAt)}
}

func toOffering(o domain.Offering, at time.Time) offeringRow {
	return offeringRow{ID: o.ID, Version: o.Version, Region: o.Region, Model: o.Model, Kind: string(o.Kind), Profile: opt(o.Profile),
		GPUeMicro: o.GPUeMicro, MemoryMiB: o.MemoryMiB, SMs: o.SMs, CardSMs: o.CardSMs, VCPUsMilli: o.VCPUsMilli, RAMMiB: o.RAMMiB, CreatedAt: at}
}

func fromOffering(r offeringRow) domain.Offering {
	return domain.Offering{ID: r.ID, Version: r.Version, Region: r.Region, Model: r.Model, Kind: domain.Kind(r.Kind), Profile: str(r.Profile),
		GPUeMicro: r.GPUeMicro, MemoryMiB: r.MemoryMiB, SMs: r.SMs, CardSMs: r.CardSMs, VCPUsMilli: r.VCPUsMilli, RAMMiB: r.RAMMiB}
}
