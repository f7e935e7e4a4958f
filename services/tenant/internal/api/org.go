package api

import (
	"context"

	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/tenant/internal/api/publicgen"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

func (h handlers) GetOrg(ctx context.Context, _ publicgen.GetOrgRequestObject) (publicgen.GetOrgResponseObject, error) {
	o, err := h.app.Org(ctx)
	if err != nil {
		return nil, err
	}
	return publicgen.GetOrg200JSONResponse{Body: wireOrg(o), Headers: publicgen.GetOrg200ResponseHeaders{ETag: httpx.ETag(o.Version)}}, nil
}

func (h handlers) UpdateOrg(ctx context.Context, r publicgen.UpdateOrgRequestObject) (publicgen.UpdateOrgResponseObject, error) {
	base, err := httpx.IfMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	o, err := h.app.UpdateOrg(ctx, domain.OrgPatch{Name: r.Body.Name, TimeZone: r.Body.TimeZone}, base)
	if err != nil {
		return nil, err
	}
	return publicgen.UpdateOrg200JSONResponse{Body: wireOrg(o), Headers: publicgen.UpdateOrg200ResponseHeaders{ETag: httpx.ETag(o.Version)}}, nil
}

func (h handlers) ListProjects(ctx context.Context, r publicgen.ListProjectsRequestObject) (publicgen.ListProjectsResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := h.app.Projects(ctx, p.more())
	if err != nil {
		return nil, err
	}
	list, next := cut(list, p, func(x domain.Project) string { return x.ID })
	return publicgen.ListProjects200JSONResponse{Items: each(list, wireProject), NextCursor: next}, nil
}

func wireOrg(o domain.Org) publicgen.Org {
	return publicgen.Org{
		ID: o.ID, Name: o.Name, Currency: publicgen.OrgCurrency(o.Currency), TimeZone: o.TimeZone, Standing: publicgen.Standing(o.Standing),
		BillingMode: publicgen.BillingMode(o.BillingMode), Approved: o.Approved, CreatedAt: o.CreatedAt,
	}
}

func wireProject(p domain.Project) publicgen.Project {
	return publicgen.Project{ID: p.ID, Name: p.Name, CreatedAt: p.CreatedAt}
}
