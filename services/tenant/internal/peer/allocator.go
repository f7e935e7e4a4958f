// Package peer speaks to the other services through their generated clients, as ports of the domain.
package peer

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/pkg/api/allocatormeshapi"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/problem"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// Allocator is the enforcer of limits and standings.
type Allocator struct {
	client *allocatormeshapi.ClientWithResponses
}

var _ domain.Enforcer = (*Allocator)(nil)

// NewAllocator returns the peer as reached over m.
func NewAllocator(m mesh.Mesh) (*Allocator, error) {
	base, client := m.HTTPClient("allocator")
	c, err := allocatormeshapi.NewClientWithResponses(base, allocatormeshapi.WithHTTPClient(client))
	if err != nil {
		return nil, fmt.Errorf("client of the allocator: %w", err)
	}
	return &Allocator{client: c}, nil
}

// Sync implements domain.Enforcer.
func (a *Allocator) Sync(ctx context.Context, feed string) error {
	resp, err := a.client.SyncAllocatorFeedWithResponse(ctx, allocatormeshapi.FeedSync{Feed: allocatormeshapi.FeedSyncFeed(feed)})
	if err != nil {
		return fmt.Errorf("ask the allocator to read feed %s: %w", feed, problem.Transport("allocator", err))
	}
	return problem.Check(resp.StatusCode(), resp.Body, resp.HTTPResponse.Header)
}
