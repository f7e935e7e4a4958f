package api

import (
	"context"

	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/tenant/internal/api/publicgen"
	"github.com/weirhq/weir/services/tenant/internal/app"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

func (h handlers) ListOrgs(ctx context.Context, r publicgen.ListOrgsRequestObject) (publicgen.ListOrgsResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := h.app.Orgs(ctx, p.more())
	if err != nil {
		return nil, err
	}
	list, next := cut(list, p, func(o domain.OrgWithLimits) string { return o.ID })
	return publicgen.ListOrgs200JSONResponse{Items: each(list, wireAdminOrg), NextCursor: next}, nil
}

func (h handlers) CreateOrg(ctx context.Context, r publicgen.CreateOrgRequestObject) (publicgen.CreateOrgResponseObject, error) {
	in := domain.CreateOrg{Name: r.Body.Name, Currency: opt(r.Body.Currency), TimeZone: opt(r.Body.TimeZone), BillingMode: domain.BillingMode(opt(r.Body.BillingMode))}
	if r.Body.Limits != nil {
		patch, err := readLimits(*r.Body.Limits)
		if err != nil {
			return nil, err
		}
		in.Limits = patch
	}
	if r.Body.Owner != nil {
		in.Owner = &domain.NewOwner{Email: r.Body.Owner.Email, Name: r.Body.Owner.Name}
	}
	o, err := h.app.CreateOrg(ctx, in, func(o app.NewOrg) any { return wireNewOrg(o) })
	if err != nil {
		return nil, err
	}
	return publicgen.CreateOrg201JSONResponse(wireNewOrg(o)), nil
}

func (h handlers) GetAdminOrg(ctx context.Context, r publicgen.GetAdminOrgRequestObject) (publicgen.GetAdminOrgResponseObject, error) {
	o, err := h.app.AdminOrg(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return publicgen.GetAdminOrg200JSONResponse{Body: wireAdminOrg(o), Headers: publicgen.GetAdminOrg200ResponseHeaders{ETag: httpx.ETag(o.Version())}}, nil
}

func (h handlers) UpdateAdminOrg(ctx context.Context, r publicgen.UpdateAdminOrgRequestObject) (publicgen.UpdateAdminOrgResponseObject, error) {
	base, err := httpx.IfMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	in := domain.AdminPatch{Standing: as[domain.Standing](r.Body.Standing), BillingMode: as[domain.BillingMode](r.Body.BillingMode), Approved: r.Body.Approved, Reason: r.Body.Reason}
	if r.Body.Limits != nil {
		patch, err := readLimits(*r.Body.Limits)
		if err != nil {
			return nil, err
		}
		in.Limits = &patch
	}
	o, inForce, err := h.app.UpdateAdminOrg(ctx, r.ID, in, base)
	if err != nil {
		return nil, err
	}
	body, etag := wireAdminOrg(o), httpx.ETag(o.Version())
	if !inForce {
		return publicgen.UpdateAdminOrg202JSONResponse{Body: body, Headers: publicgen.UpdateAdminOrg202ResponseHeaders{ETag: etag}}, nil
	}
	return publicgen.UpdateAdminOrg200JSONResponse{Body: body, Headers: publicgen.UpdateAdminOrg200ResponseHeaders{ETag: etag}}, nil
}

func wireAdminOrg(o domain.OrgWithLimits) publicgen.AdminOrg {
	w := wireOrg(o.Org)
	return publicgen.AdminOrg{
		ID: w.ID, Name: w.Name, Currency: w.Currency, TimeZone: w.TimeZone, Standing: w.Standing, BillingMode: w.BillingMode, Approved: w.Approved,
		CreatedAt: w.CreatedAt, Reason: ptr(o.Reason), Limits: wireLimits(o.Limits),
	}
}

func wireNewOrg(o app.NewOrg) publicgen.AdminOrgCreated {
	w := wireAdminOrg(o.OrgWithLimits)
	out := publicgen.AdminOrgCreated{
		ID: w.ID, Name: w.Name, Currency: w.Currency, TimeZone: w.TimeZone, Standing: w.Standing, BillingMode: w.BillingMode, Approved: w.Approved,
		CreatedAt: w.CreatedAt, Reason: w.Reason, Limits: w.Limits, Secret: ptr(o.Password),
	}
	if o.Owner != nil {
		user := wireUser(*o.Owner)
		out.Owner = &user
	}
	return out
}
