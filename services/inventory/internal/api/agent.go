package api

import (
	"context"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/services/inventory/internal/api/agentgen"
	"github.com/weirhq/weir/services/inventory/internal/app"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

func (g agents) EnrollNode(ctx context.Context, r agentgen.EnrollNodeRequestObject) (agentgen.EnrollNodeResponseObject, error) {
	out, err := g.app.Enroll(ctx, r.Body.Token, r.Body.CSRPEM, r.Body.NodeName)
	if err != nil {
		return nil, err
	}
	return agentgen.EnrollNode201JSONResponse(toEnrolled(out)), nil
}

// The node that a call speaks for is the one in its certificate, never one in a body.

func (g agents) RenewNodeCertificate(ctx context.Context, r agentgen.RenewNodeCertificateRequestObject) (agentgen.RenewNodeCertificateResponseObject, error) {
	out, err := g.app.Renew(ctx, actor.From(ctx).ID, r.Body.CSRPEM)
	if err != nil {
		return nil, err
	}
	return agentgen.RenewNodeCertificate200JSONResponse(toEnrolled(out)), nil
}

func (g agents) PutNodeStatus(ctx context.Context, r agentgen.PutNodeStatusRequestObject) (agentgen.PutNodeStatusResponseObject, error) {
	if err := g.app.Status(ctx, actor.From(ctx).ID, fromStatus(*r.Body)); err != nil {
		return nil, err
	}
	return agentgen.PutNodeStatus200JSONResponse{Seq: r.Body.Seq, IntervalSeconds: int(g.app.StatusInterval().Seconds())}, nil
}

func toEnrolled(i app.Identity) agentgen.Enrolled {
	return agentgen.Enrolled{Node: i.Node, CertificatePEM: i.Certificate.PEM, CAPEM: i.CAPEM, NotAfter: i.Certificate.NotAfter}
}

func fromStatus(s agentgen.NodeStatus) domain.Status {
	st := domain.Status{
		BootID: s.BootID, Seq: s.Seq, Protocol: s.Protocol, At: s.At, Counters: value(s.Counters),
		Node: domain.NodeFacts{Simulated: s.Simulated, Hostname: s.Hostname, AgentVersion: s.AgentVersion, VCPUsMilli: s.VcpusMilli,
			RAMMiB: s.RAMMib, DiskMiB: s.DiskMib, RefusingWork: value(s.RefusingWork)},
	}
	if r := s.Runtime; r != nil {
		st.Node.Runtime = &domain.Runtime{Name: r.Name, Isolation: string(r.Isolation), Missing: append([]string{}, value(r.Missing)...)}
	}
	for _, c := range s.Cards {
		st.Cards = append(st.Cards, fromCard(c))
	}
	return st
}

// fromCard keeps empty lists empty rather than absent: facts are compared as JSON.
func fromCard(c agentgen.Card) domain.Card {
	out := domain.Card{
		UUID: c.UUID, Policy: domain.Policy(value(c.Policy)), Lost: string(c.State) == string(domain.GPULost),
		Facts: domain.CardFacts{Index: c.Index, Serial: c.Serial, Board: c.Board, Product: c.Product, Arch: c.Arch, MemoryMiB: int64(c.MemoryMib),
			SMs: c.Sms, Units: c.Units, MIGMode: string(c.MIGMode), ResetToToggle: c.ResetToToggle, Profiles: []domain.Profile{}},
		Seen: domain.CardSeen{Layout: []domain.SliceSeen{}, TemperatureC: c.TemperatureC, PowerW: c.PowerW},
	}
	for _, p := range c.Profiles {
		out.Facts.Profiles = append(out.Facts.Profiles, domain.Profile{Name: p.Name, ID: p.ID, CIProfileID: p.CIProfileID, MemoryMiB: p.MemoryMib,
			SMs: p.Sms, ComputeSlices: p.ComputeSlices, Size: p.Size, Starts: append([]int{}, p.Starts...)})
	}
	for _, l := range c.Layout {
		out.Seen.Layout = append(out.Seen.Layout, domain.SliceSeen{Start: l.Start, Size: l.Size, Profile: l.Profile,
			DeviceUUID: l.DeviceUUID, Foreign: l.Foreign, Member: value(l.Member)})
	}
	return out
}
