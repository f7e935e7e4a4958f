package app

import (
	"context"
	"errors"
	"time"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// touchEvery is how exact a key's last use is kept: a write per request would cost more
// than the fact is worth.
const touchEvery = time.Minute

// Principal is who a credential stands for. A zero ExpiresAt means that it does not
// expire by itself.
type Principal struct {
	Actor     actor.Actor
	ExpiresAt time.Time
}

// Authenticate finds out who a credential stands for at this moment.
func (a *App) Authenticate(ctx context.Context, credential string) (Principal, error) {
	if domain.LooksLikeKey(credential) {
		return a.authenticateKey(ctx, credential)
	}
	return a.authenticateToken(ctx, credential)
}

func (a *App) authenticateToken(ctx context.Context, token string) (Principal, error) {
	claims, err := a.Tokens.Verify(token)
	if err != nil {
		return Principal{}, err
	}
	var s domain.LiveSession
	err = a.Store.AtDoor(ctx, func(tx domain.DoorTx) (err error) {
		s, err = tx.Session(claims.Session)
		return err
	})
	switch {
	case errors.Is(err, fault.NotFound):
		return Principal{}, unauthenticated("The session does not exist any more; log in again.")
	case err != nil:
		return Principal{}, err
	case !s.Usable(a.now()) || s.Account != claims.Account || s.Org != claims.Org:
		return Principal{}, unauthenticated("The session has ended; log in again.")
	}
	// The session's row decides, not what the token said when it was signed.
	return Principal{
		Actor:     actor.Actor{Kind: actor.User, ID: s.Account, Org: s.Org, Role: s.Role, Operator: s.Operator, Session: s.ID},
		ExpiresAt: claims.ExpiresAt,
	}, nil
}

func (a *App) authenticateKey(ctx context.Context, credential string) (Principal, error) {
	invalid := unauthenticated("The API key is not valid.")
	secret, ok := domain.ParseSecret(credential)
	if !ok {
		return Principal{}, invalid
	}
	now := a.now()
	var k domain.LiveKey
	err := a.Store.AtDoor(ctx, func(tx domain.DoorTx) (err error) {
		if k, err = tx.KeyByHash(secret.Hash()); err != nil || !k.Usable(now) {
			return err
		}
		if k.LastUsedAt == nil || now.Sub(*k.LastUsedAt) >= touchEvery {
			return tx.TouchKey(k.ID, now)
		}
		return nil
	})
	switch {
	case errors.Is(err, fault.NotFound) || err == nil && !k.Usable(now):
		return Principal{}, invalid
	case err != nil:
		return Principal{}, err
	case k.OrgStanding == domain.Suspended:
		return Principal{}, fault.New(fault.OrgSuspended, "The org is suspended, and its API keys with it.")
	}
	p := Principal{Actor: actor.Actor{Kind: actor.APIKey, ID: k.ID, Org: k.Org, Project: k.Project, Role: domain.Meet(k.Role, k.OwnerRole)}}
	if k.ExpiresAt != nil {
		p.ExpiresAt = *k.ExpiresAt
	}
	return p, nil
}
