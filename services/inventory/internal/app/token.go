package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

// IssuedToken is a join token with what a machine needs to use it. Secret and Command are
// shown once.
type IssuedToken struct {
	domain.JoinToken
	Secret, CAPin, Server, Command string
}

// CreateToken issues a join token to an operator. render is the answer as it is sent: a
// replay of the request gets it without its secrets.
func (a *App) CreateToken(ctx context.Context, in domain.TokenInput, render func(IssuedToken) any) (t IssuedToken, err error) {
	err = a.store.Write(ctx, func(tx domain.Tx) (err error) {
		if err := tx.Claim(); err != nil {
			return err
		}
		if t, err = a.issue(ctx, tx, in); err != nil {
			return err
		}
		kept := t
		kept.Secret, kept.Command = "", ""
		return tx.Remember(201, render(kept))
	})
	return t, err
}

// CreateNodeToken issues a join token for a simulated node of that name.
func (a *App) CreateNodeToken(ctx context.Context, name string) (t IssuedToken, err error) {
	in := domain.TokenInput{Pool: "default", NodeName: name, Life: 5 * time.Minute}
	err = a.store.Write(ctx, func(tx domain.Tx) (err error) { t, err = a.issue(ctx, tx, in); return err })
	return t, err
}

func (a *App) issue(ctx context.Context, tx domain.Tx, in domain.TokenInput) (IssuedToken, error) {
	if err := in.Validate(); err != nil {
		return IssuedToken{}, err
	}
	if _, err := tx.Pool(in.Pool); errors.Is(err, fault.NotFound) {
		return IssuedToken{}, fault.InvalidField("pool", "must name a pool")
	} else if err != nil {
		return IssuedToken{}, err
	}
	now := a.clk.Now()
	secret, hash := domain.NewSecret()
	t := domain.JoinToken{ID: id.New(id.Token, now), Hash: hash, Pool: in.Pool, NodeName: in.NodeName,
		CreatedBy: actor.From(ctx).ID, CreatedAt: now, ExpiresAt: now.Add(in.Life).Truncate(time.Millisecond)}
	if err := tx.InsertToken(t); err != nil {
		return IssuedToken{}, err
	}
	command := fmt.Sprintf("weir-agent join --server %s --token %s --ca-pin %s", a.cfg.Server, secret, a.ca.Pin())
	if t.NodeName != "" {
		command += " --node-name " + t.NodeName
	}
	return IssuedToken{JoinToken: t, Secret: secret, CAPin: a.ca.Pin(), Server: a.cfg.Server, Command: command}, nil
}
