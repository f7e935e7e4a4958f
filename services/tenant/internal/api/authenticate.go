package api

import (
	"context"

	"github.com/weirhq/weir/services/tenant/internal/api/meshgen"
)

func (h handlers) Authenticate(ctx context.Context, r meshgen.AuthenticateRequestObject) (meshgen.AuthenticateResponseObject, error) {
	p, err := h.app.Authenticate(ctx, r.Body.Credential)
	if err != nil {
		return nil, err
	}
	w := meshgen.Authenticate200JSONResponse{
		Kind: meshgen.PrincipalKind(p.Actor.Kind), ID: p.Actor.ID, Operator: p.Actor.Operator, Org: ptr(p.Actor.Org), Project: ptr(p.Actor.Project),
		Role: ptr(meshgen.PrincipalRole(p.Actor.Role)), Session: ptr(p.Actor.Session),
	}
	if !p.ExpiresAt.IsZero() {
		at := p.ExpiresAt.UTC()
		w.ExpiresAt = &at
	}
	return w, nil
}
