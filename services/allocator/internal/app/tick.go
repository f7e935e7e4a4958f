package app

import (
	"time"

	"github.com/weirhq/weir/services/allocator/internal/domain"
)

const (
	// deafAfter is a gap between two ticks after which the writer was away itself: what it
	// did not hear then is nobody's silence.
	deafAfter = 5 * time.Second
	// beatEvery keeps the feed's as_of fresh; readers are promised 5 s.
	beatEvery = 3 * time.Second
)

// tick looks at what time alone changes: silence, deadlines, and the feed's heartbeat.
func (w *Writer) tick(p *plan) error {
	if p.real.Sub(w.lastTick) > deafAfter {
		w.listening = p.real
	}
	w.lastTick = p.real
	for _, node := range sortedKeys(p.byNode) {
		contact := w.contact(node, p.real)
		for _, id := range sortedKeys(p.byNode[node]) {
			m := p.byNode[node][id]
			if contact == domain.Silent {
				p.maybe(m, func() []domain.Step { return m.Silence(p.now) })
			}
			p.maybe(m, func() []domain.Step { return m.Overdue(p.now, p.real, contact) })
		}
	}
	for id := range p.nodes {
		p.resell(id)
	}
	if p.real.Sub(w.lastBeat) >= beatEvery {
		w.lastBeat = p.real
		p.b.Items = append(p.b.Items, domain.Item{Key: "heartbeat", At: p.now, Data: domain.NewHeartbeat(p.now)})
	}
	return nil
}

// maybe is change for what most often changes nothing.
func (p *plan) maybe(m *domain.Member, fn func() []domain.Step) {
	was, i := stateOf(m), p.instances[m.Instance]
	counted := i.Counted()
	if steps := fn(); len(steps) > 0 || m.Counted != was.counted {
		p.settle(m, i, was, counted, steps)
	}
}
