package api

import (
	"time"

	"github.com/weirhq/weir/services/inventory/internal/api/publicgen"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

func toNode(n domain.Node) publicgen.Node {
	out := publicgen.Node{
		ID: n.ID, Name: n.Name, Pool: n.Pool, Region: n.Region, State: publicgen.NodeState(n.State), StateReason: orNil(string(n.Reason)),
		Cordoned: n.Cordoned, Quarantined: n.Quarantined, Simulated: n.Facts.Simulated, BootID: orNil(n.BootID),
		AgentVersion: orNil(n.Facts.AgentVersion), RefusingWork: orNil(n.Facts.RefusingWork), LastSeenAt: instant(n.LastSeenAt),
		IgnoredStatuses: n.Ignored, Counters: n.Counters, Vcpus: float64(n.Facts.VCPUsMilli) / 1000, RAMMib: n.Facts.RAMMiB, Gpus: n.GPUs, Labels: n.Labels,
		Rack: orNil(n.Rack), Zone: orNil(n.Zone), CreatedAt: n.CreatedAt, Version: n.Version,
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	if out.Counters == nil {
		out.Counters = map[string]int64{}
	}
	if r := n.Facts.Runtime; r != nil {
		out.Runtime = &publicgen.Runtime{Name: r.Name, Isolation: publicgen.RuntimeIsolation(r.Isolation), Missing: r.Missing}
	}
	return out
}

func toGPU(g domain.GPU) publicgen.GPU {
	f := g.Facts
	out := publicgen.GPU{
		ID: g.ID, UUID: g.UUID, Node: g.Node, NodeName: g.NodeName, Index: f.Index, Board: f.Board, Product: f.Product, Model: g.Model,
		Arch: f.Arch, Serial: orNil(f.Serial), Policy: publicgen.CardPolicy(g.Policy), MIGMode: publicgen.GPUMIGMode(f.MIGMode),
		State: publicgen.GPUState(g.State), Cordoned: g.Cordoned, MemoryMib: f.MemoryMiB, Sms: f.SMs, Units: f.Units,
		Layout: []publicgen.Slice{}, LargestFreeProfile: orNil(g.LargestFree()), Version: g.Version,
		Health: publicgen.Health{SeenAt: instant(g.SeenAt), TemperatureC: g.Seen.TemperatureC, PowerW: g.Seen.PowerW},
	}
	for _, s := range g.Seen.Layout {
		out.Layout = append(out.Layout, publicgen.Slice{Start: s.Start, Size: s.Size, Kind: publicgen.SliceKindMIG, Profile: orNil(s.Profile),
			Member: orNil(s.Member), DeviceUUID: orNil(s.DeviceUUID), Foreign: s.Foreign})
	}
	return out
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}
