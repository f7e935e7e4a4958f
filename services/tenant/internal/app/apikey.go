package app

import (
	"context"
	"errors"
	"net/http"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// NewKey is a key with its plaintext.
type NewKey struct {
	domain.APIKey
	Secret domain.Secret
}

// CreateKey mints an API key. answer makes the answer that is remembered for repetitions
// of the request, which drops the plaintext.
func (a *App) CreateKey(ctx context.Context, in domain.CreateKey, answer func(NewKey) any) (key NewKey, err error) {
	now := a.now()
	if err := in.Clean(now); err != nil {
		return key, err
	}
	who := actor.From(ctx)
	if who.Kind != actor.User {
		return key, fault.New(fault.Forbidden, "An API key cannot mint keys; log in as a person.")
	}
	err = a.Store.InOrg(ctx, who.Org, func(tx domain.OrgTx) error {
		if err := tx.Claim(ctx); err != nil {
			return err
		}
		if err := allowKey(tx, who, in); err != nil {
			return err
		}
		secret := domain.NewSecret(in.Role, in.Project != "")
		key = NewKey{Secret: secret, APIKey: domain.APIKey{
			ID: id.New(id.APIKey, now), Org: who.Org, Project: in.Project, Owner: who.ID, Name: in.Name, Role: in.Role,
			Hint: secret.Hint(), Hash: secret.Hash(), Version: 1, CreatedAt: now, ExpiresAt: in.ExpiresAt,
		}}
		if err := tx.AddKey(key.APIKey); err != nil {
			return err
		}
		return tx.Remember(ctx, http.StatusCreated, answer(key))
	})
	return key, err
}

// allowKey refuses a key that could do more than its creator may at this moment.
func allowKey(tx domain.OrgTx, who actor.Actor, in domain.CreateKey) error {
	role, err := tx.Role(who.ID)
	if errors.Is(err, fault.NotFound) {
		return fault.New(fault.Forbidden, "You are no longer a member of this org.")
	}
	if err != nil {
		return err
	}
	if !domain.Covers(role, in.Role) {
		return fault.New(fault.Forbidden, "Your role "+string(role)+" may not mint a key with the role "+string(in.Role)+".")
	}
	if in.Project == "" {
		return nil
	}
	if _, err = tx.Project(in.Project); errors.Is(err, fault.NotFound) {
		return fault.InvalidField("project", "is not a project of your org")
	}
	return err
}

// Keys lists the API keys the caller may see: all for owners and admins, their own for
// other people, itself for a key.
func (a *App) Keys(ctx context.Context, p domain.Page) (list []domain.APIKey, err error) {
	who := actor.From(ctx)
	err = a.Store.InOrg(ctx, who.Org, func(tx domain.OrgTx) (err error) {
		list, err = tx.Keys(visible(who), p)
		return err
	})
	return list, err
}

func visible(who actor.Actor) domain.KeyFilter {
	switch {
	case manages(who):
		return domain.KeyFilter{}
	case who.Kind == actor.APIKey:
		return domain.KeyFilter{ID: who.ID}
	}
	return domain.KeyFilter{Owner: who.ID}
}

// SetKeyDisabled disables or enables a key; base is the version the change builds on, if said.
func (a *App) SetKeyDisabled(ctx context.Context, key string, disabled bool, base *int64) (k domain.APIKey, err error) {
	err = a.withKey(ctx, key, func(tx domain.OrgTx, locked domain.APIKey) error {
		k = locked
		if err := domain.CheckVersion(base, k.Version); err != nil || k.Disabled == disabled {
			return err
		}
		k.Disabled = disabled
		err := tx.SaveKey(k)
		k.Version++
		return err
	})
	return k, err
}

// RevokeKey ends a key for good.
func (a *App) RevokeKey(ctx context.Context, key string) error {
	return a.withKey(ctx, key, func(tx domain.OrgTx, k domain.APIKey) error { return tx.RevokeKey(k.ID, a.now()) })
}

// withKey locks a key that the caller may change; one it may not see does not exist.
func (a *App) withKey(ctx context.Context, key string, fn func(tx domain.OrgTx, k domain.APIKey) error) error {
	who := actor.From(ctx)
	if who.Kind != actor.User {
		return fault.New(fault.Forbidden, "An API key cannot change keys; log in as a person.")
	}
	return a.Store.InOrg(ctx, who.Org, func(tx domain.OrgTx) error {
		k, err := tx.LockKey(key)
		if err != nil {
			return err
		}
		if !manages(who) && k.Owner != who.ID {
			return fault.New(fault.NotFound, "There is no such API key.")
		}
		return fn(tx, k)
	})
}
