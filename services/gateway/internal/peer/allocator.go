package peer

import (
	"context"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/api/allocatormeshapi"
	"github.com/weirhq/weir/pkg/kit/problem"
)

// LimitUsage asks what the caller's org uses of each limit.
func (p *Peers) LimitUsage(ctx context.Context) (*allocatormeshapi.LimitUsage, error) {
	resp, err := p.allocator.GetLimitUsageWithResponse(ctx)
	if err != nil {
		return nil, problem.Transport(Allocator, err)
	}
	return resp.JSON200, check(resp.StatusCode(), resp.Body, resp.HTTPResponse, resp.JSON200 != nil)
}

// Instance asks for an instance as the caller may see it.
func (p *Peers) Instance(ctx context.Context, id string) (*allocatorapi.Instance, error) {
	resp, err := p.instances.GetInstanceWithResponse(ctx, id)
	if err != nil {
		return nil, problem.Transport(Allocator, err)
	}
	return resp.JSON200, check(resp.StatusCode(), resp.Body, resp.HTTPResponse, resp.JSON200 != nil)
}
