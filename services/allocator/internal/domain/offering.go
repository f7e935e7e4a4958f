package domain

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

// Offering is one version of something rentable.
type Offering struct {
	ID            string
	Version       int64
	Region, Model string
	Kind          Kind
	Profile       string
	GPUeMicro     int64 // of one card or slice
	MemoryMiB     int64
	SMs, CardSMs  int
	VCPUsMilli    int64 // the fair share of one
	RAMMiB        int64
}

// SMFractionMicro is the share of the card's SMs in millionths.
func (o Offering) SMFractionMicro() int64 {
	if o.CardSMs == 0 {
		return 0
	}
	return int64(o.SMs) * 1_000_000 / int64(o.CardSMs)
}

// sameTerms reports whether a new version would say nothing new.
func (o Offering) sameTerms(p Offering) bool {
	p.Version = o.Version
	return o == p
}

// WholeID and SliceID name offerings.
func WholeID(model string) string          { return model + ".whole" }
func SliceID(model, profile string) string { return model + "." + profile }

// Catalogue derives what could be rented from what the pool has, ordered by id and without
// versions. What cards of one model differ in, the least counts, so that every one of them
// can serve. CPU and RAM are a card's fair share of its node, and a slice's of its card.
func Catalogue(nodes []Node) []Offering {
	found := map[string]Offering{}
	put := func(o Offering) {
		if have, ok := found[o.ID]; ok {
			o = least(have, o)
		}
		found[o.ID] = o
	}
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	for _, n := range nodes {
		if n.State == NodeRetired {
			continue
		}
		cards := int64(0)
		for _, g := range n.GPUs {
			if g.Counts() {
				cards++
			}
		}
		for _, g := range n.GPUs {
			if g.Counts() && g.Model != "" && g.MemoryMiB > 0 {
				offer(n, g, cards, put)
			}
		}
	}
	all := make([]Offering, 0, len(found))
	for _, o := range found {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b Offering) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func offer(n Node, g GPU, cards int64, put func(Offering)) {
	vcpus, ram := n.VCPUsMilli/cards, n.RAMMiB/cards
	if g.Policy != "mig" {
		put(Offering{ID: WholeID(g.Model), Region: n.Region, Model: g.Model, Kind: Whole, GPUeMicro: Weight(g.Model),
			MemoryMiB: g.MemoryMiB, SMs: g.SMs, CardSMs: g.SMs, VCPUsMilli: vcpus, RAMMiB: ram})
	}
	if g.Policy == "whole" || g.Units <= 0 {
		return
	}
	for _, p := range g.Profiles {
		if !sellable(p) {
			continue
		}
		put(Offering{ID: SliceID(g.Model, p.Name), Region: n.Region, Model: g.Model, Kind: MIG, Profile: p.Name,
			GPUeMicro: gpueMicro(g.Model, int64(p.MemoryMiB), g.MemoryMiB, p.SMs, g.SMs), MemoryMiB: int64(p.MemoryMiB),
			SMs: p.SMs, CardSMs: g.SMs, VCPUsMilli: vcpus * int64(p.Size) / int64(g.Units), RAMMiB: ram * int64(p.Size) / int64(g.Units)})
	}
}

// sellable leaves out variants and what nobody measured.
func sellable(p mig.Profile) bool {
	return p.Plain() && p.Documented() && p.Size > 0 && len(p.Starts) > 0
}

func least(a, b Offering) Offering {
	a.MemoryMiB, a.SMs, a.CardSMs = min(a.MemoryMiB, b.MemoryMiB), min(a.SMs, b.SMs), min(a.CardSMs, b.CardSMs)
	a.SMs = min(a.SMs, a.CardSMs)
	a.VCPUsMilli, a.RAMMiB = min(a.VCPUsMilli, b.VCPUsMilli), min(a.RAMMiB, b.RAMMiB)
	a.GPUeMicro = max(a.GPUeMicro, b.GPUeMicro)
	return a
}

// Revise gives the catalogue its versions: those of the latest offerings where nothing
// changed, the next one where something did. fresh are the new versions.
func Revise(latest map[string]Offering, catalogue []Offering) (current, fresh []Offering) {
	for _, o := range catalogue {
		have, ok := latest[o.ID]
		if ok && have.sameTerms(o) {
			current = append(current, have)
			continue
		}
		o.Version = have.Version + 1
		current, fresh = append(current, o), append(fresh, o)
	}
	return current, fresh
}
