package app

import (
	"context"
	"errors"
	"time"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// SignUp creates an account, its org and the project `default`, and logs the person in.
func (a *App) SignUp(ctx context.Context, in domain.SignUp) (Login, error) {
	if err := in.Clean(); err != nil {
		return Login{}, err
	}
	if err := a.refuseTaken(ctx, in.Email); err != nil { // before a hash is spent on it
		return Login{}, err
	}
	hash, err := a.Passwords.Hash(ctx, in.Password)
	if err != nil {
		return Login{}, err
	}
	var login Login
	err = a.Store.AtDoor(ctx, func(tx domain.DoorTx) error {
		now := a.now()
		account := domain.Account{ID: id.New(id.User, now), Email: in.Email, Name: in.Name, PasswordHash: hash, CreatedAt: now}
		l, err := a.found(tx, account, a.newOrg(in.OrgName, in.Currency, now), a.Policy.Limits)
		if err != nil {
			return err
		}
		login, err = a.open(tx, l)
		return err
	})
	return login, err
}

func (a *App) refuseTaken(ctx context.Context, email string) error {
	return a.Store.AtDoor(ctx, func(tx domain.DoorTx) error {
		_, err := tx.AccountByEmail(email)
		switch {
		case err == nil:
			return fault.New(fault.Conflict, "An account with this e-mail address exists already.")
		case errors.Is(err, fault.NotFound):
			return nil
		}
		return err
	})
}

// newOrg is an org as the deployment's policy starts it.
func (a *App) newOrg(name, currency string, now time.Time) domain.Org {
	if currency == "" {
		currency = a.Policy.Currency
	}
	return domain.Org{
		ID: id.New(id.Org, now), Name: name, Currency: currency, TimeZone: "UTC", BillingMode: a.Policy.BillingMode,
		Standing: domain.Good, Approved: a.Policy.Approved, Version: 1, CreatedAt: now, UpdatedAt: now,
	}
}

// found writes an org with its project and limits, and its owner's account with it.
func (a *App) found(tx domain.DoorTx, owner domain.Account, o domain.Org, l domain.Limits) (Login, error) {
	p, err := a.foundEmpty(tx, o, l)
	if err != nil {
		return Login{}, err
	}
	if err := tx.AddAccount(owner); err != nil {
		return Login{}, err
	}
	m := domain.Membership{Org: o.ID, Account: owner.ID, Role: actor.Owner, CreatedAt: o.CreatedAt}
	if err := tx.AddMembership(m); err != nil {
		return Login{}, err
	}
	return Login{Account: owner, Membership: m, Org: &o, Project: &p}, nil
}

// foundEmpty writes an org that nobody belongs to yet.
func (a *App) foundEmpty(tx domain.DoorTx, o domain.Org, l domain.Limits) (domain.Project, error) {
	l.Org, l.Version, l.UpdatedAt = o.ID, 1, o.CreatedAt
	p := domain.Project{ID: id.New(id.Project, o.CreatedAt), Org: o.ID, Name: domain.DefaultProject, CreatedAt: o.CreatedAt}
	return p, tx.AddOrg(o, p, l)
}
