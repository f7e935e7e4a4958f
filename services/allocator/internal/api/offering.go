package api

import (
	"context"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/allocator/internal/api/publicgen"
)

// ListOfferings is a page of what can be rented.
func (h public) ListOfferings(ctx context.Context, r publicgen.ListOfferingsRequestObject) (publicgen.ListOfferingsResponseObject, error) {
	offers, err := h.app.Offerings(ctx, actor.From(ctx).Org)
	if err != nil {
		return nil, err
	}
	after, err := httpx.ParseCursor(r.Params.Cursor, 1)
	if err != nil {
		return nil, err
	}
	page := defaultPage
	if r.Params.Limit != nil {
		page = *r.Params.Limit
	}
	out := publicgen.ListOfferings200JSONResponse{Items: []publicgen.Offering{}}
	for _, o := range offers {
		switch {
		case after != nil && o.ID <= after[0],
			r.Params.GPUModel != nil && o.Model != *r.Params.GPUModel,
			r.Params.Kind != nil && string(o.Kind) != string(*r.Params.Kind):
			continue
		}
		if len(out.Items) == page {
			next := httpx.Cursor(out.Items[page-1].ID)
			out.NextCursor = &next
			break
		}
		out.Items = append(out.Items, wireOffer(o))
	}
	return out, nil
}
