package peer

import (
	"context"

	"github.com/weirhq/weir/pkg/api/commonapi"
	"github.com/weirhq/weir/pkg/api/meteringmeshapi"
	"github.com/weirhq/weir/pkg/kit/problem"
)

// Costs asks what the instances have cost so far.
func (p *Peers) Costs(ctx context.Context, instances []string) (map[string]commonapi.Money, error) {
	resp, err := p.metering.GetCostsWithResponse(ctx, &meteringmeshapi.GetCostsParams{Instance: instances})
	if err != nil {
		return nil, problem.Transport(Metering, err)
	}
	if err := check(resp.StatusCode(), resp.Body, resp.HTTPResponse, resp.JSON200 != nil); err != nil {
		return nil, err
	}
	costs := map[string]commonapi.Money{}
	for _, c := range resp.JSON200.Items {
		costs[c.Instance] = c.Cost
	}
	return costs, nil
}
