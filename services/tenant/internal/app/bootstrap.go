package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// Bootstrap makes sure that the accounts exist. It is safe to repeat, and to run from
// several processes at once.
func (a *App) Bootstrap(ctx context.Context, accounts []domain.Bootstrap) error {
	for _, b := range accounts {
		if err := b.Clean(); err != nil {
			return fmt.Errorf("account %s: %w", b.Email, err)
		}
		err := a.bootstrap(ctx, b)
		if errors.Is(err, fault.Conflict) { // another process was faster
			err = a.bootstrap(ctx, b)
		}
		if err != nil {
			return fmt.Errorf("account %s: %w", b.Email, err)
		}
	}
	return nil
}

func (a *App) bootstrap(ctx context.Context, b domain.Bootstrap) error {
	var account domain.Account
	err := a.Store.AtDoor(ctx, func(tx domain.DoorTx) (err error) {
		account, err = tx.AccountByEmail(b.Email)
		return err
	})
	switch {
	case errors.Is(err, fault.NotFound):
		return a.bootstrapNew(ctx, b)
	case err != nil:
		return err
	case account.Operator != b.Operator:
		// Whoever signed up under this address must not become an operator by a restart.
		return errors.New("it exists already with another platform role")
	case b.ResetPassword:
		return a.resetPassword(ctx, account, b.Password)
	}
	return nil
}

func (a *App) bootstrapNew(ctx context.Context, b domain.Bootstrap) error {
	hash, err := a.Passwords.Hash(ctx, b.Password)
	if err != nil {
		return err
	}
	return a.Store.AtDoor(ctx, func(tx domain.DoorTx) error {
		now := a.now()
		account := domain.Account{ID: id.New(id.User, now), Email: b.Email, Name: b.Name, PasswordHash: hash, Operator: b.Operator, CreatedAt: now}
		if b.Operator {
			return tx.AddAccount(account)
		}
		_, err := a.found(tx, account, a.newOrg(b.OrgName, "", now), a.Policy.Limits)
		return err
	})
}

// resetPassword gives the account that password and ends its sessions, unless it has it
// already.
func (a *App) resetPassword(ctx context.Context, account domain.Account, password string) error {
	same, err := a.Passwords.Check(ctx, password, account.PasswordHash)
	if err != nil || same {
		return err
	}
	hash, err := a.Passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	return a.Store.AtDoor(ctx, func(tx domain.DoorTx) error {
		if err := tx.SetPassword(account.ID, hash); err != nil {
			return err
		}
		return tx.EndSessionsOf(account.ID, domain.EndPasswordReset, a.now())
	})
}
