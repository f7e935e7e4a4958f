package api

import (
	"context"

	"github.com/weirhq/weir/services/metering/internal/api/meshgen"
	"github.com/weirhq/weir/services/metering/internal/app"
)

// Mesh answers other services.
type Mesh struct {
	app  *app.Service
	sync func(ctx context.Context) error
}

// GetCosts is what instances have cost so far.
func (h *Mesh) GetCosts(ctx context.Context, r meshgen.GetCostsRequestObject) (meshgen.GetCostsResponseObject, error) {
	costs, err := h.app.Costs(ctx, r.Params.Instance)
	if err != nil {
		return nil, err
	}
	answer := meshgen.GetCosts200JSONResponse{Items: make([]meshgen.Cost, len(costs))}
	for i, c := range costs {
		answer.Items[i] = meshgen.Cost{Instance: c.Instance, Cost: amount(c.Cost, c.Currency)}
	}
	return answer, nil
}

// SyncMeteringFeeds applies the peers' feeds up to their heads.
func (h *Mesh) SyncMeteringFeeds(ctx context.Context, _ meshgen.SyncMeteringFeedsRequestObject) (meshgen.SyncMeteringFeedsResponseObject, error) {
	if err := h.sync(ctx); err != nil {
		return nil, err
	}
	return meshgen.SyncMeteringFeeds204Response{}, nil
}
