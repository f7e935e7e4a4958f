package api

import (
	"github.com/weirhq/weir/services/allocator/internal/api/publicgen"
	"github.com/weirhq/weir/services/allocator/internal/app"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

func wireInstance(i *domain.Instance) publicgen.Instance {
	labels := i.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	out := publicgen.Instance{ID: i.ID, Name: i.Name, Project: orNil(i.Project), State: publicgen.InstanceState(i.State), StateReason: orNil(i.Reason),
		StateDetail: orNil(i.Detail), ExitCode: i.ExitCode, Offering: i.Offering, OfferingVersion: i.OfferingVersion, Count: i.Count, Nodes: i.Nodes,
		Vcpus: domain.Decimal(i.VCPUsMilli, 3), RAMMib: i.RAMMiB, Image: orNil(i.Image), Slices: wireSlices(i),
		Price:     publicgen.InstancePrice{PerHour: i.PerHour.String(), Currency: i.Currency, Version: i.PriceVersion, Term: publicgen.InstancePriceTermOnDemand},
		CreatedAt: i.CreatedAt, RunningAt: i.RunningAt, StoppedAt: i.StoppedAt, DeletedAt: i.DeletedAt, Labels: labels}
	if i.Command != nil {
		out.Command = &i.Command
	}
	return out
}

// wireSlices are the seats of the last admission: those of ended members stay visible.
func wireSlices(i *domain.Instance) []publicgen.Slice {
	out := []publicgen.Slice{}
	for _, m := range lastMembers(i.Members) {
		for _, s := range m.Seats {
			w := publicgen.Slice{Member: m.ID, Node: m.Node, NodeName: m.NodeName, GPU: s.GPU, Kind: publicgen.OfferingKind(s.Kind), MemoryMib: s.MemoryMiB}
			if s.Kind == domain.MIG {
				start, size := s.Start, s.Size
				w.Profile, w.Start, w.Size = orNil(s.Profile), &start, &size
			}
			if s.Kind == domain.Shared {
				share := s.Share
				w.Share = &share
			}
			if s.Live != nil {
				w.DeviceUUID = orNil(s.Live.DeviceUUID)
			}
			out = append(out, w)
		}
	}
	return out
}

// lastMembers are those of the last start: each start makes new ones.
func lastMembers(members []*domain.Member) []*domain.Member {
	var last []*domain.Member
	for _, m := range members {
		switch {
		case len(last) == 0 || m.AssignedAt.After(last[0].AssignedAt):
			last = []*domain.Member{m}
		case m.AssignedAt.Equal(last[0].AssignedAt):
			last = append(last, m)
		}
	}
	return last
}

func wireAdmin(i *domain.Instance) publicgen.AdminInstance {
	w := wireInstance(i)
	return publicgen.AdminInstance{Org: i.Org, ID: w.ID, Name: w.Name, Project: w.Project, State: w.State, StateReason: w.StateReason,
		StateDetail: w.StateDetail, ExitCode: w.ExitCode, Offering: w.Offering, OfferingVersion: w.OfferingVersion, Count: w.Count, Nodes: w.Nodes,
		Vcpus: w.Vcpus, RAMMib: w.RAMMib, Image: w.Image, Command: w.Command, Slices: w.Slices, Price: w.Price, CreatedAt: w.CreatedAt,
		RunningAt: w.RunningAt, StoppedAt: w.StoppedAt, DeletedAt: w.DeletedAt, CostSoFar: w.CostSoFar, QueuePosition: w.QueuePosition, Eta: w.Eta,
		Labels: w.Labels}
}

func wireEvent(e domain.Event) publicgen.InstanceEvent {
	w := publicgen.InstanceEvent{ID: e.ID, At: e.At, Member: orNil(e.Member), State: publicgen.InstanceState(e.State), Reason: orNil(e.Reason),
		Detail: orNil(e.Detail), BillableFrom: e.BillableFrom, BillableUntil: e.BillableUntil}
	w.Actor.Kind, w.Actor.ID = publicgen.InstanceEventActorKind(e.Actor.Kind), e.Actor.ID
	return w
}

func wireOffer(o app.Offer) publicgen.Offering {
	return publicgen.Offering{ID: o.ID, Version: o.Version, Region: o.Region, GPUModel: o.Model, Kind: publicgen.OfferingKind(o.Kind), Profile: orNil(o.Profile),
		GPUMemoryMib: o.MemoryMiB, SMFraction: domain.Decimal(o.SMFractionMicro(), 6), Gpue: domain.Decimal(o.GPUeMicro, 6),
		Vcpus: domain.Decimal(o.VCPUsMilli, 3), RAMMib: o.RAMMiB, Isolation: publicgen.Isolation(o.Kind.Isolation()),
		Price:     publicgen.OfferingPrice{PerHour: o.Price.PerHour.String(), Currency: o.Price.Currency, Terms: []publicgen.OfferingPriceTerms{}, Version: o.Price.VersionID},
		Available: o.Available, AfterReconfigure: o.AfterReconfigure}
}
