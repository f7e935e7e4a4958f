package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// Desired is what a node is asked to do, whole: absence means nothing.
type Desired struct {
	Incarnation string
	Generation  int64
	Members     []DesiredMember
}

// DesiredMember is one member with an explicit run or stop.
type DesiredMember struct {
	Member, Instance   string
	Action             string
	Cause              domain.Cause
	PrepareBy          time.Time
	Seats              []DesiredSeat
	VCPUsMilli, RAMMiB int64
	Image              string
	Command            []string
	Env                map[string]string
}

// DesiredSeat is where a member sits.
type DesiredSeat struct {
	Seat, GPUUUID string
	Kind          domain.Kind
	Profile       string
	Start, Size   int
}

// views are what agents may be told: only what is committed.
type views struct {
	mu          *sync.Mutex
	incarnation *string
	byNode      map[string]*view
}

type view struct {
	generation int64
	members    []DesiredMember
	changed    chan struct{} // closed with the next change
}

func newViews() views {
	return views{mu: &sync.Mutex{}, incarnation: new(string), byNode: map[string]*view{}}
}

// replace shows a state that was loaded.
func (v views) replace(m *memory) {
	v.mu.Lock()
	defer v.mu.Unlock()
	*v.incarnation = m.incarnation
	for node := range v.byNode {
		if m.byNode[node] == nil && m.desired[node] == 0 {
			v.set(node, &view{})
		}
	}
	for node, generation := range m.desired {
		v.set(node, viewOf(m, node, generation))
	}
}

// publish shows what a committed batch changed.
func (v views) publish(p *plan) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for node, generation := range p.b.Desired {
		v.set(node, viewOf(p.memory, node, generation))
	}
}

func (v views) set(node string, now *view) {
	now.changed = make(chan struct{})
	if old := v.byNode[node]; old != nil {
		close(old.changed)
	}
	v.byNode[node] = now
}

func (v views) get(node string) (incarnation string, now view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byNode[node] == nil {
		v.byNode[node] = &view{changed: make(chan struct{})}
	}
	return *v.incarnation, *v.byNode[node]
}

func viewOf(m *memory, node string, generation int64) *view {
	out := &view{generation: generation}
	for _, mem := range m.byNode[node] {
		action, cause := ask(mem)
		if action == "" {
			continue
		}
		d := DesiredMember{Member: mem.ID, Instance: mem.Instance, Action: action, Cause: cause, PrepareBy: mem.PrepareBy,
			VCPUsMilli: mem.VCPUsMilli, RAMMiB: mem.RAMMiB}
		for _, s := range mem.Seats {
			uuid := ""
			if c := m.cards[s.GPU]; c != nil {
				uuid = c.UUID
			}
			d.Seats = append(d.Seats, DesiredSeat{Seat: s.ID, GPUUUID: uuid, Kind: s.Kind, Profile: s.Profile, Start: s.Start, Size: s.Size})
		}
		out.members = append(out.members, d)
	}
	slices.SortFunc(out.members, func(a, b DesiredMember) int { return cmp.Compare(a.Member, b.Member) })
	return out
}

// Desired answers with what the node is asked to do, once that differs from what the agent
// knows; nil when it does not for as long as the agent waits.
func (a *App) Desired(ctx context.Context, node, incarnation string, generation *int64, wait time.Duration) (*Desired, error) {
	var timeout <-chan time.Time
	if wait > 0 {
		timeout = a.deps.Real.After(wait)
	}
	for {
		if !a.writer.Leading() {
			return nil, errNotLeading()
		}
		have, now := a.writer.views.get(node)
		if have != incarnation || generation == nil || *generation != now.generation {
			return a.desired(ctx, have, now)
		}
		if timeout == nil {
			return nil, nil
		}
		select {
		case <-now.changed:
		case <-timeout:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// desired adds what members run, which never changes, to what the node shall do.
func (a *App) desired(ctx context.Context, incarnation string, now view) (*Desired, error) {
	d := &Desired{Incarnation: incarnation, Generation: now.generation, Members: slices.Clone(now.members)}
	var running []string
	for _, m := range d.Members {
		if m.Action == actionRun {
			running = append(running, m.Instance)
		}
	}
	if len(running) == 0 {
		return d, nil
	}
	specs, err := a.deps.Reader.Specs(ctx, running)
	if err != nil {
		return nil, err
	}
	for i := range d.Members {
		m := &d.Members[i]
		if m.Action != actionRun {
			continue
		}
		spec, ok := specs[m.Instance]
		if !ok {
			return nil, fmt.Errorf("instance %s has no row", m.Instance)
		}
		m.Image, m.Command = spec.Image, spec.Command
		if m.Env, err = a.deps.Sealer.Open(m.Instance, spec.EnvSealed); err != nil {
			return nil, fmt.Errorf("open the environment of %s: %w", m.Instance, err)
		}
	}
	return d, nil
}
