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

// Tokens is what a person holds while logged in.
type Tokens struct {
	Access, Refresh string
	ExpiresIn       time.Duration // of the access token
}

// Login is who logged in, where, and with which tokens.
type Login struct {
	Account    domain.Account
	Membership domain.Membership
	Org        *domain.Org // nil for an operator, like Project
	Project    *domain.Project
	Tokens     Tokens
}

// open writes a new session for l and fills its tokens.
func (a *App) open(tx domain.DoorTx, l Login) (Login, error) {
	now := a.now()
	s := domain.Session{ID: id.New(id.Session, now), Account: l.Account.ID, Org: l.Membership.Org, CreatedAt: now, ExpiresAt: now.Add(a.Policy.SessionTTL)}
	plain, stored := a.newRefreshToken(s, now)
	if err := tx.AddSession(s, stored); err != nil {
		return Login{}, err
	}
	var err error
	l.Tokens, err = a.tokens(domain.LiveSession{Session: s, Operator: l.Account.Operator, Role: l.Membership.Role}, plain, now)
	return l, err
}

func (a *App) newRefreshToken(s domain.Session, now time.Time) (string, domain.RefreshToken) {
	plain := domain.NewRefreshToken()
	hash, _ := domain.RefreshHash(plain) // ours is well-formed
	return plain, domain.RefreshToken{Hash: hash, Session: s.ID, IssuedAt: now, ExpiresAt: earlier(s.ExpiresAt, now.Add(a.Policy.RefreshTTL))}
}

func (a *App) tokens(s domain.LiveSession, refresh string, now time.Time) (Tokens, error) {
	expires := earlier(s.ExpiresAt, now.Add(a.Policy.AccessTTL))
	access, err := a.Deps.Tokens.Sign(domain.AccessClaims{Account: s.Account, Session: s.ID, Org: s.Org, Role: s.Role, Operator: s.Operator, ExpiresAt: expires}, now)
	return Tokens{Access: access, Refresh: refresh, ExpiresIn: expires.Sub(now)}, err
}

// LogOut ends the caller's session. Ending one that has ended is fine.
func (a *App) LogOut(ctx context.Context) error {
	who := actor.From(ctx)
	if who.Kind != actor.User || who.Session == "" {
		return fault.New(fault.Forbidden, "Only a person's session can be logged out.")
	}
	return a.Store.AtDoor(ctx, func(tx domain.DoorTx) error {
		_, err := tx.EndSession(who.Session, domain.EndLogout, a.now())
		return err
	})
}

var (
	errRefused = unauthenticated("The refresh token is not valid; log in again.")
	errRaced   = fault.New(fault.Conflict, "Another request is exchanging, or has just exchanged, this refresh token; use the tokens it got.")
)

// refreshTimeout bounds an exchange that goes on after its caller has left.
const refreshTimeout = 10 * time.Second

// Refresh exchanges a refresh token for new tokens.
//
// Each token works once. A token that was exchanged before is proof that two parties hold
// the family: the session ends. Two requests at the same time are not that proof (a client
// with two tabs): the loser, which arrived before the winner was through, gets a conflict
// and ends nothing. Nobody gets anything for an old token in either case.
func (a *App) Refresh(ctx context.Context, token string) (Tokens, error) {
	arrived := a.Clock.Now()
	hash, ok := domain.RefreshHash(token)
	if !ok {
		return Tokens{}, errRefused
	}
	// A thief must not be able to stop the family's end by hanging up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
	defer cancel()
	var out Tokens
	var refusal error // decided, and to be committed
	err := a.Store.AtDoor(ctx, func(tx domain.DoorTx) (err error) {
		out, refusal, err = a.exchange(tx, hash, arrived)
		return err
	})
	if err == nil {
		err = refusal
	}
	return out, err
}

func (a *App) exchange(tx domain.DoorTx, hash [32]byte, arrived time.Time) (out Tokens, refusal, err error) {
	t, busy, err := tx.LockRefreshToken(hash)
	switch {
	case errors.Is(err, fault.NotFound):
		return out, errRefused, nil
	case err != nil:
		return out, nil, err
	case busy:
		return out, errRaced, nil
	case t.UsedAt != nil && arrived.Before(*t.UsedAt):
		return out, errRaced, nil
	}
	now := a.Clock.Now() // exact: a race is told from a reuse by it
	if t.UsedAt != nil {
		ended, err := tx.EndSession(t.Session, domain.EndReuse, now)
		if ended {
			a.Log.Warn("a refresh token was used twice; its session was ended", "session", t.Session)
		}
		return out, errRefused, err
	}
	s, err := tx.Session(t.Session)
	if err != nil {
		return out, nil, err
	}
	if !s.Usable(now) || !now.Before(t.ExpiresAt) {
		return out, errRefused, nil
	}
	plain, next := a.newRefreshToken(s.Session, now)
	t.UsedAt = &now
	if err := tx.Rotate(t, next); err != nil {
		return out, nil, err
	}
	out, err = a.tokens(s, plain, now)
	return out, nil, err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
