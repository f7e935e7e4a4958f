package app

import (
	"context"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// Org returns the caller's org.
func (a *App) Org(ctx context.Context) (org domain.Org, err error) {
	err = a.Store.InOrg(ctx, actor.From(ctx).Org, func(tx domain.OrgTx) (err error) {
		org, err = tx.Org()
		return err
	})
	return org, err
}

// UpdateOrg changes the caller's org; base is the version the change builds on, if said.
func (a *App) UpdateOrg(ctx context.Context, in domain.OrgPatch, base *int64) (org domain.Org, err error) {
	if err := in.Clean(); err != nil {
		return org, err
	}
	err = a.Store.InOrg(ctx, actor.From(ctx).Org, func(tx domain.OrgTx) (err error) {
		if org, err = tx.LockOrg(); err != nil {
			return err
		}
		if err := domain.CheckVersion(base, org.Version); err != nil {
			return err
		}
		after, changed := in.Apply(org)
		if !changed {
			return nil
		}
		after.UpdatedAt = a.now()
		if err := tx.SaveOrg(after); err != nil {
			return err
		}
		after.Version++
		org = after
		return nil
	})
	return org, err
}

// Limits returns the limits of the caller's org.
func (a *App) Limits(ctx context.Context) (l domain.Limits, err error) {
	err = a.Store.InOrg(ctx, actor.From(ctx).Org, func(tx domain.OrgTx) (err error) {
		l, err = tx.Limits()
		return err
	})
	return l, err
}

// Projects lists the projects of the caller's org.
func (a *App) Projects(ctx context.Context, p domain.Page) (list []domain.Project, err error) {
	err = a.Store.InOrg(ctx, actor.From(ctx).Org, func(tx domain.OrgTx) (err error) {
		list, err = tx.Projects(p)
		return err
	})
	return list, err
}
