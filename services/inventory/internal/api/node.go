package api

import (
	"context"

	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/inventory/internal/api/publicgen"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

func (o operators) ListNodes(ctx context.Context, r publicgen.ListNodesRequestObject) (publicgen.ListNodesResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor, 1)
	if err != nil {
		return nil, err
	}
	nodes, err := o.app.Nodes(ctx, domain.NodeFilter{State: string(value(r.Params.State)), Pool: value(r.Params.Pool), Name: value(r.Params.Name)}, more(p))
	if err != nil {
		return nil, err
	}
	answer := publicgen.ListNodes200JSONResponse{Items: []publicgen.Node{}}
	if len(nodes) > p.Limit {
		nodes = nodes[:p.Limit]
		answer.NextCursor = cursor(nodes[p.Limit-1].ID)
	}
	for _, n := range nodes {
		answer.Items = append(answer.Items, toNode(n))
	}
	return answer, nil
}

func (o operators) GetNode(ctx context.Context, r publicgen.GetNodeRequestObject) (publicgen.GetNodeResponseObject, error) {
	n, err := o.app.Node(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return publicgen.GetNode200JSONResponse{Body: toNode(n), Headers: publicgen.GetNode200ResponseHeaders{ETag: etag(n.Version)}}, nil
}

func (o operators) UpdateNode(ctx context.Context, r publicgen.UpdateNodeRequestObject) (publicgen.UpdateNodeResponseObject, error) {
	match, err := httpx.IfMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	n, err := o.app.UpdateNode(ctx, r.ID, match, domain.NodeUpdate{Cordoned: r.Body.Cordoned, Labels: r.Body.Labels, Rack: r.Body.Rack, Zone: r.Body.Zone})
	if err != nil {
		return nil, err
	}
	return publicgen.UpdateNode200JSONResponse{Body: toNode(n), Headers: publicgen.UpdateNode200ResponseHeaders{ETag: etag(n.Version)}}, nil
}

func (o operators) DeleteNode(ctx context.Context, r publicgen.DeleteNodeRequestObject) (publicgen.DeleteNodeResponseObject, error) {
	if err := o.app.RetireNode(ctx, r.ID); err != nil {
		return nil, err
	}
	return publicgen.DeleteNode204Response{}, nil
}

func (o operators) ListPools(ctx context.Context, r publicgen.ListPoolsRequestObject) (publicgen.ListPoolsResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor, 1)
	if err != nil {
		return nil, err
	}
	pools, err := o.app.Pools(ctx, more(p))
	if err != nil {
		return nil, err
	}
	answer := publicgen.ListPools200JSONResponse{Items: []publicgen.Pool{}}
	if len(pools) > p.Limit {
		pools = pools[:p.Limit]
		answer.NextCursor = cursor(pools[p.Limit-1].ID)
	}
	for _, pool := range pools {
		answer.Items = append(answer.Items, publicgen.Pool{
			ID: pool.ID, Name: pool.Name, Region: pool.Region, Authority: publicgen.PoolAuthority(pool.Authority),
			ShareAcrossOrgs: pool.ShareAcrossOrgs, DefaultCardPolicy: publicgen.CardPolicy(pool.DefaultPolicy),
		})
	}
	return answer, nil
}
