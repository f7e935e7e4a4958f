package api

import (
	"context"
	"strconv"

	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/inventory/internal/api/publicgen"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

func (o operators) ListGPUs(ctx context.Context, r publicgen.ListGPUsRequestObject) (publicgen.ListGPUsResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor, 3)
	if err != nil {
		return nil, err
	}
	gpus, err := o.app.GPUs(ctx, domain.GPUFilter{State: string(value(r.Params.State)), Model: value(r.Params.Model), Node: value(r.Params.Node)}, more(p))
	if err != nil {
		return nil, err
	}
	answer := publicgen.ListGPUs200JSONResponse{Items: []publicgen.GPU{}}
	if len(gpus) > p.Limit {
		gpus = gpus[:p.Limit]
		last := gpus[p.Limit-1]
		answer.NextCursor = cursor(last.Node, strconv.Itoa(last.Facts.Index), last.ID)
	}
	for _, g := range gpus {
		answer.Items = append(answer.Items, toGPU(g))
	}
	return answer, nil
}

func (o operators) GetGPU(ctx context.Context, r publicgen.GetGPURequestObject) (publicgen.GetGPUResponseObject, error) {
	g, err := o.app.GPU(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return publicgen.GetGPU200JSONResponse{Body: toGPU(g), Headers: publicgen.GetGPU200ResponseHeaders{ETag: etag(g.Version)}}, nil
}

func (o operators) UpdateGPU(ctx context.Context, r publicgen.UpdateGPURequestObject) (publicgen.UpdateGPUResponseObject, error) {
	match, err := httpx.IfMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	u := domain.GPUUpdate{Cordoned: r.Body.Cordoned}
	if r.Body.Policy != nil {
		policy := domain.Policy(*r.Body.Policy)
		u.Policy = &policy
	}
	g, err := o.app.UpdateGPU(ctx, r.ID, match, u)
	if err != nil {
		return nil, err
	}
	return publicgen.UpdateGPU200JSONResponse{Body: toGPU(g), Headers: publicgen.UpdateGPU200ResponseHeaders{ETag: etag(g.Version)}}, nil
}
