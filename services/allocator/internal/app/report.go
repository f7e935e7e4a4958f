package app

import (
	"context"
	"slices"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// Reported is the answer to a report.
type Reported struct {
	Seq            int64
	Acknowledged   []string
	NewBootCleared bool
}

// Report merges what a node's agent says. A report that changes nothing costs no commit.
func (a *App) Report(ctx context.Context, r domain.Report) (Reported, error) {
	var out Reported
	err := a.writer.do(ctx, func(p *plan) error {
		out = Reported{Seq: r.Seq}
		merged, err := p.merge(r)
		if err != nil {
			return err
		}
		out.Acknowledged, out.NewBootCleared = merged.Acknowledged, merged.NewBoot
		return nil
	})
	return out, err
}

func (p *plan) merge(r domain.Report) (domain.Merged, error) {
	s := p.sessions[r.Node]
	if s == nil {
		s = &domain.Session{Node: r.Node}
	}
	if err := s.Accept(r); err != nil {
		return domain.Merged{}, err
	}
	known := p.byNode[r.Node]
	was := map[string]before{}
	counted := map[string]bool{}
	for id, m := range known {
		was[id], counted[m.Instance] = stateOf(m), p.instances[m.Instance].Counted()
	}
	merged := domain.Merge(s, known, p.orphans[r.Node], r, p.incarnation, func() string { return id.New(orphanID, p.now) }, p.now)
	s.Heard = p.real
	p.sessions[r.Node], p.unsaved[r.Node] = s, true
	for _, m := range merged.Changed {
		i := p.instances[m.Instance]
		p.settle(m, i, was[m.ID], counted[i.ID], nil)
		counted[i.ID] = i.Counted()
	}
	for _, step := range merged.Steps {
		p.tell(step)
	}
	if merged.LeftBoot != "" {
		p.b.Left = append(p.b.Left, domain.LeftBoot{Node: r.Node, Boot: merged.LeftBoot, At: p.now})
	}
	if merged.NewBoot || merged.Fresh {
		p.must[r.Node] = true
	}
	p.orphaned(r.Node, merged)
	p.resell(r.Node)
	return merged, nil
}

// orphaned keeps the orphans of a node, and blocks or frees their cards.
func (p *plan) orphaned(node string, merged domain.Merged) {
	if len(merged.NewOrphans)+len(merged.FreedOrphans) == 0 {
		return
	}
	p.b.NewOrphans = append(p.b.NewOrphans, merged.NewOrphans...)
	p.b.FreedOrphans = append(p.b.FreedOrphans, merged.FreedOrphans...)
	p.orphans[node] = slices.DeleteFunc(append(p.orphans[node], merged.NewOrphans...), func(o *domain.Orphan) bool { return o.ReleasedAt != nil })
	if n, ok := p.nodes[node]; ok {
		p.putNode(n, p.w.sells(n, p.real))
	}
	for _, o := range merged.NewOrphans {
		p.w.deps.Log.Error("a node runs what nobody here admitted; its card sells nothing until that is gone", "node", node, "member", o.Member, "gpu", o.GPUUUID)
	}
}

// GoingDown ends what runs on a node that is switched off on purpose.
func (a *App) GoingDown(ctx context.Context, node, boot string) error {
	return a.writer.do(ctx, func(p *plan) error {
		s := p.sessions[node]
		if s == nil || s.Boot != boot {
			return fault.New(fault.Conflict, "This boot has not reported, or the node has left it behind.")
		}
		for _, id := range sortedKeys(p.byNode[node]) {
			if m := p.byNode[node][id]; !m.State.Ended() {
				p.change(m, func() []domain.Step { return m.GoDown(boot, p.now) })
			}
		}
		// It sells nothing until it reports in full again.
		s.Incarnation, s.Heard = "", p.real
		p.unsaved[node], p.must[node] = true, true
		p.resell(node)
		return nil
	})
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
