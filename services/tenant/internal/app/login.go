package app

import (
	"context"
	"errors"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// LogIn exchanges e-mail and password for tokens. It answers alike, and takes as long,
// for a wrong password, an unknown address and a disabled account.
func (a *App) LogIn(ctx context.Context, in domain.LogIn) (Login, error) {
	if err := in.Clean(); err != nil {
		return Login{}, err
	}
	refund, err := a.Guesses.Take(ctx, in.Email, in.Address)
	if err != nil {
		return Login{}, err
	}
	account, ok, err := a.checkPassword(ctx, in)
	if err != nil {
		refund() // nothing was learned
		return Login{}, err
	}
	if !ok {
		return Login{}, unauthenticated("The e-mail address or the password is wrong.")
	}
	refund()
	var login Login
	err = a.Store.AtDoor(ctx, func(tx domain.DoorTx) (err error) {
		login, err = a.enter(tx, account)
		return err
	})
	return login, err
}

func (a *App) checkPassword(ctx context.Context, in domain.LogIn) (account domain.Account, ok bool, err error) {
	err = a.Store.AtDoor(ctx, func(tx domain.DoorTx) (err error) {
		account, err = tx.AccountByEmail(in.Email)
		return err
	})
	switch {
	case errors.Is(err, fault.NotFound):
		return account, false, a.Passwords.CheckNothing(ctx, in.Password)
	case err != nil:
		return account, false, err
	}
	ok, err = a.Passwords.Check(ctx, in.Password, account.PasswordHash)
	return account, ok && !account.Disabled, err
}

// enter opens a session for an account whose password was right a moment ago.
func (a *App) enter(tx domain.DoorTx, checked domain.Account) (Login, error) {
	// A reset that came in between has ended all sessions; this one must not slip past it.
	account, err := tx.HoldAccount(checked.ID)
	if err != nil {
		return Login{}, err
	}
	if account.PasswordHash != checked.PasswordHash || account.Disabled {
		return Login{}, unauthenticated("The e-mail address or the password is wrong.")
	}
	m, err := tx.Membership(account.ID)
	switch {
	case errors.Is(err, fault.NotFound) && account.Operator:
		return a.open(tx, Login{Account: account})
	case errors.Is(err, fault.NotFound):
		return Login{}, fault.New(fault.Forbidden, "Your account belongs to no org.")
	case err != nil:
		return Login{}, err
	}
	org, project, err := tx.OrgAndDefaultProject(m.Org)
	if err != nil {
		return Login{}, err
	}
	return a.open(tx, Login{Account: account, Membership: m, Org: &org, Project: &project})
}
