package app

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/services/allocator/internal/domain"
	"github.com/weirhq/weir/services/allocator/internal/place"
)

// putNode tells placement what is known of a node. sells is whether it may take new work.
func (m *memory) putNode(n domain.Node, sells bool) {
	m.version++
	m.sellable[n.ID] = sells
	if n.State == domain.NodeRetired {
		m.pool.RemoveNode(n.ID)
		return
	}
	blocked, all := m.blockedCards(n.ID)
	facts := place.Node{ID: n.ID, Schedulable: sells, Cordoned: n.Cordoned, Resources: place.Resources{CPUMilli: n.VCPUsMilli, MemoryMiB: n.RAMMiB}}
	for _, g := range n.GPUs {
		if g.State == domain.CardRetired {
			continue
		}
		facts.Cards = append(facts.Cards, place.Card{ID: g.ID, Model: g.Model, Policy: place.Policy(g.Policy),
			Sellable: g.State == domain.CardOK && !g.Cordoned && g.MIGMode != domain.MIGPending && !all && !blocked[g.UUID],
			MIGMode:  g.MIGMode == domain.MIGOn, ModeFixed: g.ResetToToggle, Geometry: g.Geometry()})
	}
	m.pool.PutNode(facts)
}

// resell tells placement when a node begins or ceases to take new work.
func (p *plan) resell(node string) {
	if n, ok := p.nodes[node]; ok {
		if sells := p.w.sells(n, p.real); sells != p.sellable[node] {
			p.putNode(n, sells)
		}
	}
}

// blockedCards are the cards that orphans sit on; all of the node's when an agent did not
// say which.
func (m *memory) blockedCards(node string) (uuids map[string]bool, all bool) {
	uuids = map[string]bool{}
	for _, o := range m.orphans[node] {
		uuids[o.GPUUUID] = true
		all = all || o.GPUUUID == ""
	}
	return uuids, all
}

// setNode takes in a fact of inventory. A card that is no longer listed stays known by its
// UUID: something may sit on it.
func (m *memory) setNode(n domain.Node) {
	m.nodes[n.ID] = n
	for i := range n.GPUs {
		m.cards[n.GPUs[i].ID] = &n.GPUs[i]
	}
	for _, mem := range m.byNode[n.ID] {
		mem.NodeName = n.Name
	}
}

// revise derives the catalogue anew and returns the versions that are new.
func (m *memory) revise() []domain.Offering {
	nodes := make([]domain.Node, 0, len(m.nodes))
	for _, n := range m.nodes {
		nodes = append(nodes, n)
	}
	current, fresh := domain.Revise(m.latest, domain.Catalogue(nodes))
	m.catalogue, m.offerings = current, map[string]domain.Offering{}
	for _, o := range current {
		m.offerings[o.ID], m.latest[o.ID] = o, o
	}
	m.version++
	return fresh
}

// nodeUsage is the row that the database keeps of a node.
func (m *memory) nodeUsage(node string) domain.NodeUsage {
	n, u := m.nodes[node], m.used[node]
	return domain.NodeUsage{Node: node, VCPUsUsed: u.CPUMilli, VCPUsReported: n.VCPUsMilli, RAMUsed: u.MemoryMiB, RAMReported: n.RAMMiB}
}

func placeSeat(m *domain.Member, s *domain.Seat) place.SeatRow {
	row := place.SeatRow{ID: s.ID, Member: m.ID, Node: m.Node, GPU: s.GPU, Kind: place.KindWhole}
	if s.Kind == domain.MIG {
		row.Kind, row.Profile, row.Placement = place.KindMIG, s.Profile, mig.Placement{Start: s.Start, Size: s.Size}
	}
	return row
}

// Agents report every five seconds, or four times per node time-out when that is short
// (inventory tells them). One that missed two reports is quiet: what happened there is left
// to its next words.
const (
	reportEvery = 5 * time.Second
	lateness    = time.Second
)

func (w *Writer) quietAfter() time.Duration {
	return 2*min(max(w.cfg.NodeTimeout/4, time.Second), reportEvery) + lateness
}

// contact is how well a node is heard. It is silent when nothing came for the node time-out,
// or when inventory does not hear it and nothing comes here either.
func (w *Writer) contact(node string, real time.Time) domain.Contact {
	since := w.listening
	s := w.mem.sessions[node]
	heard := s != nil && !s.Heard.IsZero()
	if heard && s.Heard.After(since) {
		since = s.Heard
	}
	age := real.Sub(since)
	n, known := w.mem.nodes[node]
	switch {
	case age >= w.cfg.NodeTimeout, known && n.State != domain.NodeReady && age >= w.quietAfter():
		return domain.Silent
	case !heard || age >= w.quietAfter():
		return domain.Quiet
	}
	return domain.Heard
}

// sells reports whether a node may take new work: inventory says so, it is not silent, and
// its full report was merged under this incarnation.
func (w *Writer) sells(n domain.Node, real time.Time) bool {
	s := w.mem.sessions[n.ID]
	return n.Sells() && s != nil && s.Incarnation == w.mem.incarnation && w.contact(n.ID, real) != domain.Silent
}
