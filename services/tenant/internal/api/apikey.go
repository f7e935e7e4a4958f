package api

import (
	"context"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/tenant/internal/api/publicgen"
	"github.com/weirhq/weir/services/tenant/internal/app"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

func (h handlers) ListAPIKeys(ctx context.Context, r publicgen.ListAPIKeysRequestObject) (publicgen.ListAPIKeysResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := h.app.Keys(ctx, p.more())
	if err != nil {
		return nil, err
	}
	list, next := cut(list, p, func(k domain.APIKey) string { return k.ID })
	return publicgen.ListAPIKeys200JSONResponse{Items: each(list, wireKey), NextCursor: next}, nil
}

func (h handlers) CreateAPIKey(ctx context.Context, r publicgen.CreateAPIKeyRequestObject) (publicgen.CreateAPIKeyResponseObject, error) {
	in := domain.CreateKey{Name: r.Body.Name, Role: actor.Role(r.Body.Role), Project: opt(r.Body.Project), ExpiresAt: r.Body.ExpiresAt}
	k, err := h.app.CreateKey(ctx, in, func(k app.NewKey) any { return wireNewKey(k) })
	if err != nil {
		return nil, err
	}
	return publicgen.CreateAPIKey201JSONResponse(wireNewKey(k)), nil
}

func (h handlers) UpdateAPIKey(ctx context.Context, r publicgen.UpdateAPIKeyRequestObject) (publicgen.UpdateAPIKeyResponseObject, error) {
	base, err := httpx.IfMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	k, err := h.app.SetKeyDisabled(ctx, r.ID, r.Body.Disabled, base)
	if err != nil {
		return nil, err
	}
	return publicgen.UpdateAPIKey200JSONResponse{Body: wireKey(k), Headers: publicgen.UpdateAPIKey200ResponseHeaders{ETag: httpx.ETag(k.Version)}}, nil
}

func (h handlers) DeleteAPIKey(ctx context.Context, r publicgen.DeleteAPIKeyRequestObject) (publicgen.DeleteAPIKeyResponseObject, error) {
	return publicgen.DeleteAPIKey204Response{}, h.app.RevokeKey(ctx, r.ID)
}

func wireKey(k domain.APIKey) publicgen.APIKey {
	return publicgen.APIKey{
		ID: k.ID, Name: k.Name, Role: publicgen.Role(k.Role), Project: ptr(k.Project), Owner: k.Owner, Hint: k.Hint, Disabled: k.Disabled,
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt,
	}
}

func wireNewKey(k app.NewKey) publicgen.APIKeyCreated {
	w := wireKey(k.APIKey)
	return publicgen.APIKeyCreated{
		ID: w.ID, Name: w.Name, Role: w.Role, Project: w.Project, Owner: w.Owner, Hint: w.Hint, Disabled: w.Disabled,
		CreatedAt: w.CreatedAt, ExpiresAt: w.ExpiresAt, LastUsedAt: w.LastUsedAt, Secret: ptr(k.Secret.Reveal()),
	}
}
