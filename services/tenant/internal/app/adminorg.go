package app

import (
	"context"
	"net/http"

	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// NewOrg is an org an operator made, with its owner's initial password if it has one.
type NewOrg struct {
	domain.OrgWithLimits
	Owner    *domain.Account
	Password string
}

// CreateOrg makes an org for an operator. answer makes the answer that is remembered for
// repetitions of the request, which drops the password.
func (a *App) CreateOrg(ctx context.Context, in domain.CreateOrg, answer func(NewOrg) any) (out NewOrg, err error) {
	if err := in.Clean(); err != nil {
		return out, err
	}
	var password, hash string
	if in.Owner != nil {
		password = domain.RandomPassword()
		if hash, err = a.Passwords.Hash(ctx, password); err != nil {
			return out, err
		}
	}
	// The api role cannot write accounts, so this operator's call runs at the door.
	err = a.Store.AtDoor(ctx, func(tx domain.DoorTx) error {
		if err := tx.Claim(ctx); err != nil {
			return err
		}
		if out, err = a.makeOrg(tx, in, hash); err != nil {
			return err
		}
		out.Password = password
		return tx.Remember(ctx, http.StatusCreated, answer(out))
	})
	return out, err
}

func (a *App) makeOrg(tx domain.DoorTx, in domain.CreateOrg, hash string) (NewOrg, error) {
	now := a.now()
	o := a.newOrg(in.Name, in.Currency, now)
	if in.TimeZone != "" {
		o.TimeZone = in.TimeZone
	}
	if in.BillingMode != "" {
		o.BillingMode = in.BillingMode
	}
	limits, _ := in.Limits.Apply(a.Policy.Limits)
	limits.Org, limits.Version, limits.UpdatedAt = o.ID, 1, now
	out := NewOrg{OrgWithLimits: domain.OrgWithLimits{Org: o, Limits: limits}}
	if in.Owner == nil {
		_, err := a.foundEmpty(tx, o, limits)
		return out, err
	}
	out.Owner = &domain.Account{ID: id.New(id.User, now), Email: in.Owner.Email, Name: in.Owner.Name, PasswordHash: hash, CreatedAt: now}
	_, err := a.found(tx, *out.Owner, o, limits)
	return out, err
}

// Orgs lists all orgs.
func (a *App) Orgs(ctx context.Context, p domain.Page) (list []domain.OrgWithLimits, err error) {
	err = a.Store.AsOperator(ctx, func(tx domain.OperatorTx) (err error) {
		list, err = tx.Orgs(p)
		return err
	})
	return list, err
}

// AdminOrg returns one org with its limits.
func (a *App) AdminOrg(ctx context.Context, org string) (o domain.OrgWithLimits, err error) {
	err = a.Store.AsOperator(ctx, func(tx domain.OperatorTx) (err error) {
		o, err = tx.OrgWithLimits(org)
		return err
	})
	return o, err
}

// UpdateAdminOrg changes an org or its limits; base is the version the change builds on,
// if said. inForce says whether the allocator has confirmed the change; a repetition of a
// change that is stored already asks it again.
func (a *App) UpdateAdminOrg(ctx context.Context, org string, in domain.AdminPatch, base *int64) (o domain.OrgWithLimits, inForce bool, err error) {
	if err := in.Clean(); err != nil {
		return o, false, err
	}
	err = a.Store.AsOperator(ctx, func(tx domain.OperatorTx) (err error) {
		if o, err = tx.LockOrgWithLimits(org); err != nil {
			return err
		}
		if err := domain.CheckVersion(base, o.Version()); err != nil {
			return err
		}
		o, err = a.applyAdminPatch(tx, o, in)
		return err
	})
	if err != nil {
		return o, false, err
	}
	return o, a.enforce(ctx, domain.FeedOrgs, domain.FeedLimits), nil
}

func (a *App) applyAdminPatch(tx domain.OperatorTx, o domain.OrgWithLimits, in domain.AdminPatch) (domain.OrgWithLimits, error) {
	now := a.now()
	if after, changed := in.Apply(o.Org); changed {
		after.UpdatedAt = now
		if err := tx.SaveOrg(after); err != nil {
			return o, err
		}
		after.Version++
		o.Org = after
	}
	if in.Limits == nil {
		return o, nil
	}
	if after, changed := in.Limits.Apply(o.Limits); changed {
		after.UpdatedAt = now
		if err := tx.SaveLimits(after); err != nil {
			return o, err
		}
		after.Version++
		o.Limits = after
	}
	return o, nil
}

// enforce waits until the allocator has read the feeds, but not for long.
func (a *App) enforce(ctx context.Context, feeds ...string) bool {
	ctx, cancel := context.WithTimeout(ctx, a.Policy.EnforceWait)
	defer cancel()
	for _, feed := range feeds {
		if err := a.Enforcer.Sync(ctx, feed); err != nil {
			a.Log.WarnContext(ctx, "the allocator did not confirm a change", "feed", feed, "error", err.Error())
			return false
		}
	}
	return true
}
