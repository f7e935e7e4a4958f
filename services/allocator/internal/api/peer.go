package api

import (
	"context"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/services/allocator/internal/api/meshgen"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// GetLimitUsage is what the caller's org uses of each limit.
func (h peers) GetLimitUsage(ctx context.Context, _ meshgen.GetLimitUsageRequestObject) (meshgen.GetLimitUsageResponseObject, error) {
	org := actor.From(ctx).Org
	u, err := h.app.LimitUsage(ctx, org)
	if err != nil {
		return nil, err
	}
	return meshgen.GetLimitUsage200JSONResponse{Org: org, Gpue: domain.Decimal(u.GPUeMicro, 6), Instances: u.Instances,
		QueuedInstances: u.QueuedInstances, Vcpus: domain.Decimal(u.VCPUsMilli, 3), RAMMib: u.RAMMiB}, nil
}

// SyncAllocatorFeed applies a peer's feed up to its head.
func (h peers) SyncAllocatorFeed(ctx context.Context, r meshgen.SyncAllocatorFeedRequestObject) (meshgen.SyncAllocatorFeedResponseObject, error) {
	if err := h.app.SyncFeed(ctx, string(r.Body.Feed)); err != nil {
		return nil, err
	}
	return meshgen.SyncAllocatorFeed204Response{}, nil
}
