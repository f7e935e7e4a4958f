package app

import (
	"context"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// Me is the caller as it sees itself. What does not apply is nil.
type Me struct {
	Actor   actor.Actor
	Account *domain.Account
	Key     *domain.APIKey
	Org     *domain.Org
	Limits  *domain.Limits
}

// Me answers who calls.
func (a *App) Me(ctx context.Context) (Me, error) {
	me := Me{Actor: actor.From(ctx)}
	if me.Actor.Kind == actor.User {
		err := a.Store.AtDoor(ctx, func(tx domain.DoorTx) error {
			account, err := tx.Account(me.Actor.ID)
			me.Account = &account
			return err
		})
		if err != nil {
			return Me{}, err
		}
	}
	if me.Actor.Org == "" {
		return me, nil
	}
	err := a.Store.InOrg(ctx, me.Actor.Org, func(tx domain.OrgTx) error {
		org, err := tx.Org()
		if err != nil {
			return err
		}
		limits, err := tx.Limits()
		if err != nil {
			return err
		}
		me.Org, me.Limits = &org, &limits
		if me.Actor.Kind == actor.APIKey {
			key, err := tx.Key(me.Actor.ID)
			me.Key = &key
			return err
		}
		return nil
	})
	return me, err
}
