package api

import (
	"context"
	"time"

	"github.com/weirhq/weir/services/inventory/internal/api/publicgen"
	"github.com/weirhq/weir/services/inventory/internal/app"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

func (o operators) CreateJoinToken(ctx context.Context, r publicgen.CreateJoinTokenRequestObject) (publicgen.CreateJoinTokenResponseObject, error) {
	in := domain.TokenInput{Pool: "default", NodeName: value(r.Body.NodeName), Life: domain.MaxTokenLife}
	if r.Body.Pool != nil {
		in.Pool = *r.Body.Pool
	}
	if r.Body.TTLSeconds != nil {
		in.Life = time.Duration(*r.Body.TTLSeconds) * time.Second
	}
	t, err := o.app.CreateToken(ctx, in, func(t app.IssuedToken) any { return toToken(t) })
	if err != nil {
		return nil, err
	}
	return publicgen.CreateJoinToken201JSONResponse(toToken(t)), nil
}

func toToken(t app.IssuedToken) publicgen.JoinToken {
	return publicgen.JoinToken{ID: t.ID, Pool: t.Pool, NodeName: orNil(t.NodeName), Secret: orNil(t.Secret), CAPin: t.CAPin,
		Server: t.Server, JoinCommand: orNil(t.Command), ExpiresAt: t.ExpiresAt}
}
