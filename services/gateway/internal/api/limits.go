package api

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/weirhq/weir/services/gateway/internal/api/publicgen"
)

// GetLimits puts the tenant service's limits and the allocator's use of them side by side.
func (h *Handlers) GetLimits(ctx context.Context, _ publicgen.GetLimitsRequestObject) (publicgen.GetLimitsResponseObject, error) {
	limits, err := h.Peers.Limits(ctx)
	if err != nil {
		return nil, err
	}
	used, err := h.Peers.LimitUsage(ctx)
	if err != nil {
		return nil, err
	}
	row := func(resource publicgen.LimitResource, limit *json.Number, used json.Number) publicgen.Limit {
		return publicgen.Limit{Resource: resource, Scope: publicgen.Org, Limit: limit, Used: used}
	}
	return publicgen.GetLimits200JSONResponse{Items: []publicgen.Limit{
		row(publicgen.Gpue, limits.Gpue, used.Gpue),
		row(publicgen.Instances, whole(limits.Instances), *whole(&used.Instances)),
		row(publicgen.QueuedInstances, whole(limits.QueuedInstances), *whole(&used.QueuedInstances)),
		row(publicgen.Vcpus, limits.Vcpus, used.Vcpus),
		row(publicgen.RAMMib, whole(limits.RAMMib), *whole(&used.RAMMib)),
	}}, nil
}

// whole writes an integer as the number it is; nil stays unlimited.
func whole(n *int64) *json.Number {
	if n == nil {
		return nil
	}
	j := json.Number(strconv.FormatInt(*n, 10))
	return &j
}
