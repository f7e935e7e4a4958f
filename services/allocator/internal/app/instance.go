package app

import (
	"context"
	"errors"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// Get reads one instance of an org. project, unless empty, hides those of others.
func (a *App) Get(ctx context.Context, org, project, id string) (*domain.Instance, error) {
	i, err := a.deps.Reader.Instance(ctx, org, id)
	if err == nil && hidden(i, project) {
		return nil, domain.NoInstance()
	}
	return i, err
}

// hidden: a key that is bound to a project does not see others'.
func hidden(i *domain.Instance, project string) bool {
	return project != "" && i.Project != "" && i.Project != project
}

// List reads a page of an org's instances; of all orgs' when org is empty.
func (a *App) List(ctx context.Context, org string, f domain.InstanceFilter) ([]*domain.Instance, error) {
	return a.deps.Reader.Instances(ctx, org, f)
}

// Events reads a page of an instance's history.
func (a *App) Events(ctx context.Context, org, project, id string, after int64, limit int) ([]domain.Event, error) {
	if project != "" {
		if _, err := a.Get(ctx, org, project, id); err != nil {
			return nil, err
		}
	}
	return a.deps.Reader.Events(ctx, org, id, after, limit)
}

// Target is an instance that somebody wants stopped.
type Target struct {
	Org     string // empty for operators
	Project string
	ID      string
	By      domain.Actor
	Reason  string // an operator's, shown to the tenant
}

func (t Target) owns(i *domain.Instance) bool {
	return i != nil && (t.Org == "" || t.Org == i.Org) && !hidden(i, t.Project)
}

// errNotHeld says that the writer does not hold the instance: it has ended, or is not there.
var errNotHeld = errors.New("the instance holds nothing")

// Stop stops an instance, and with remove marks it deleted once it has ended. It is safe
// to repeat.
func (a *App) Stop(ctx context.Context, t Target, remove bool) (*domain.Instance, error) {
	var out *domain.Instance
	err := a.writer.do(ctx, func(p *plan) error {
		i := p.instances[t.ID]
		if !t.owns(i) {
			return errNotHeld
		}
		cause, detail := domain.ByUser, ""
		if t.Org == "" {
			cause, detail = domain.ByOperator, t.Reason
		}
		for _, m := range i.Members {
			p.maybe(m, func() []domain.Step { return m.Ask(cause, detail, t.By, p.now, p.w.contact(m.Node, p.real)) })
		}
		if remove && i.DeleteAskedAt == nil {
			i.Delete(p.now)
			p.instance[i.ID] = true
		}
		out = clone(i)
		return nil
	})
	if errors.Is(err, errNotHeld) {
		return a.stopEnded(ctx, t, remove)
	}
	return out, err
}

// stopEnded answers for what has ended already, which only the database knows.
func (a *App) stopEnded(ctx context.Context, t Target, remove bool) (*domain.Instance, error) {
	i, err := a.find(ctx, t)
	if err != nil || !remove || i.DeletedAt != nil {
		return i, err
	}
	if !i.State.Ended() { // admitted by another leader a moment ago
		return nil, errNotLeading()
	}
	err = a.writer.do(ctx, func(p *plan) error {
		i.Delete(p.now)
		p.b.Instances = append(p.b.Instances, i)
		return nil
	})
	return i, err
}

func (a *App) find(ctx context.Context, t Target) (*domain.Instance, error) {
	if t.Org == "" {
		return a.deps.Reader.AnyInstance(ctx, t.ID)
	}
	return a.Get(ctx, t.Org, t.Project, t.ID)
}

// Fence gives up what silent nodes hold of an instance, on an operator's word that they are
// off. Their agents are asked to stop it all the same, should they ever answer.
func (a *App) Fence(ctx context.Context, t Target, key domain.RequestKey, encode Encode) (*domain.Instance, error) {
	out, err := a.once(ctx, key, encode, func(p *plan) (*domain.Instance, error) {
		i := p.instances[t.ID]
		if i == nil {
			return nil, errNotHeld
		}
		fenced := false
		for _, m := range i.Members {
			if m.ReleasedAt != nil || p.w.contact(m.Node, p.real) != domain.Silent {
				continue
			}
			fenced = true
			p.change(m, func() []domain.Step {
				steps := m.Fence("Given up by an operator: "+t.Reason, t.By, p.now)
				m.Release(domain.CleanedNothing, domain.FreedByFence, p.now)
				m.Ghost = true
				return steps
			})
		}
		if !fenced {
			return nil, fault.New(fault.Conflict, "Its nodes answer. Stop it instead: a fence is for nodes that are silent and proven off.")
		}
		return i, nil
	})
	if errors.Is(err, errNotHeld) {
		if _, err := a.find(ctx, t); err != nil {
			return nil, err
		}
		return nil, fault.New(fault.Conflict, "It holds nothing any more.")
	}
	return out, err
}
