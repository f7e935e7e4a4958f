package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/services/allocator/internal/domain"
	"github.com/weirhq/weir/services/allocator/internal/place"
)

// availability is how much of each offering would be placed right now. It is true to
// placement, so it is worked out anew only when something moved.
type availability struct {
	version int64
	free    map[string]int
	after   map[string]int
}

// maxCounted bounds what is counted of one offering.
const maxCounted = 1_000_000

func (m *memory) availability() *availability {
	if m.available != nil && m.available.version == m.version {
		return m.available
	}
	a := &availability{version: m.version, free: map[string]int{}, after: map[string]int{}}
	for _, o := range m.catalogue {
		w := placeWant(o, 1, o.VCPUsMilli, o.RAMMiB)
		a.free[o.ID], a.after[o.ID] = m.pool.Available(w, maxCounted), m.pool.AfterReconfigure(w)
	}
	m.available = a
	return a
}

// total is how many of an offering an empty, healthy pool would hold, by its cards.
func (m *memory) total(o domain.Offering) (n int64) {
	for _, node := range m.nodes {
		if node.State == domain.NodeRetired {
			continue
		}
		for _, g := range node.GPUs {
			if !g.Counts() || g.Model != o.Model {
				continue
			}
			if o.Kind == domain.Whole {
				if g.Policy != string(place.PolicyMIG) {
					n++
				}
				continue
			}
			if p, ok := g.Geometry().Profile(o.Profile); ok && g.Policy != string(place.PolicyWhole) {
				n += int64(max(1, g.Units/max(1, p.Size)*min(1, len(p.Starts))))
			}
		}
	}
	return n
}

// noCapacity says why nothing fits, and what would.
func (p *plan) noCapacity(org domain.Org, limits domain.Limits, wants []want, why place.Explanation) error {
	w := wants[0]
	free := int64(p.availability().free[w.offering.ID])
	total := max(p.total(w.offering), free)
	detail := make([]string, 0, len(why.Blocked))
	for _, b := range why.Blocked {
		detail = append(detail, b.Offering+": "+words(b))
	}
	return domain.NoCapacity(w.offering.ID, total, total-free, int64(w.place.Count), why.Impossible, strings.Join(detail, "; ")+".", p.alternatives(org, limits, wants))
}

// words says what stopped a want, for people.
func words(b place.Blocked) string {
	if b.Impossible {
		switch b.Main() {
		case place.ReasonModel, place.ReasonNoHardware:
			return "no node has such hardware"
		case place.ReasonCPU:
			return "no node has as many vCPUs beside it"
		case place.ReasonMemory:
			return "no node has as much RAM beside it"
		}
		return "no node has as many such cards"
	}
	switch r := b.Main(); r {
	case place.ReasonBusy:
		return "every card is taken"
	case place.ReasonNoStart:
		return "what is free is not where this slice may begin"
	case place.ReasonTooFew:
		return "no node has as many free cards"
	case place.ReasonCPU:
		return "no node with a free card has as many free vCPUs"
	case place.ReasonMemory:
		return "no node with a free card has as much free RAM"
	case place.ReasonReconfigure:
		return "the free cards are in the other mode"
	case place.ReasonNotReady, place.ReasonCordoned:
		return "the nodes with free cards take no new work now"
	case place.ReasonUnhealthy, place.ReasonMissing, place.ReasonShrunk:
		return "the free cards are not healthy"
	default:
		return fmt.Sprintf("it does not fit (%s)", r)
	}
}

// maxAlternatives is how many are named.
const maxAlternatives = 5

// alternatives are what would fit now, in the pool and in the org's limits: fewer cards of
// what was asked, then the nearest in size.
func (p *plan) alternatives(org domain.Org, limits domain.Limits, wants []want) []domain.Alternative {
	type candidate struct {
		domain.Alternative
		distance int64
	}
	var found []candidate
	free := p.availability().free
	target := wants[0].need.GPUeMicro
	consider := func(o domain.Offering, count int) bool {
		price, ok := p.prices.At(o.ID, org.Currency, p.now)
		need := domain.Usage{GPUeMicro: o.GPUeMicro * int64(count), Instances: 1, VCPUsMilli: o.VCPUsMilli * int64(count), RAMMiB: o.RAMMiB * int64(count)}
		if !ok || limits.Excess(p.usage[org.ID], need) != nil {
			return false
		}
		w := placeWant(o, count, need.VCPUsMilli, need.RAMMiB)
		if d, _ := p.pool.Plan(place.Request{Nodes: 1, Offerings: []place.Want{w}}); !d.OK() {
			return false
		}
		distance := need.GPUeMicro - target
		found = append(found, candidate{domain.NewAlternative(o.ID, count, free[o.ID], price), max(distance, -distance)})
		return true
	}
	for _, o := range p.catalogue {
		if free[o.ID] == 0 {
			continue
		}
		most := 1
		if o.Kind == domain.Whole {
			most = wants[0].place.Count
		}
		for count := most; count >= 1 && !consider(o, count); count-- {
			continue
		}
	}
	var asked []string
	for _, w := range wants {
		asked = append(asked, w.offering.ID)
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(notIn(asked, a.Offering)-notIn(asked, b.Offering), cmp.Compare(a.distance, b.distance), cmp.Compare(a.Offering, b.Offering))
	})
	var out []domain.Alternative
	for _, c := range found[:min(len(found), maxAlternatives)] {
		out = append(out, c.Alternative)
	}
	return out
}

func notIn(list []string, s string) int {
	if slices.Contains(list, s) {
		return 0
	}
	return 1
}
