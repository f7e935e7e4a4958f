package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/gateway/internal/api/publicgen"
)

// startPoll is how often an instance that is still starting is looked at again.
const startPoll = 250 * time.Millisecond

// GetInstanceLogs streams what the instance's container wrote, from its node. The
// allocator says whether the caller may see the instance at all.
func (h *Handlers) GetInstanceLogs(ctx context.Context, req publicgen.GetInstanceLogsRequestObject) (publicgen.GetInstanceLogsResponseObject, error) {
	follow := req.Params.Follow != nil && *req.Params.Follow
	for {
		inst, err := h.Peers.Instance(ctx, req.ID)
		if err != nil {
			return nil, err
		}
		if len(inst.Slices) == 0 && !starting(inst) {
			return &stream{handlers: h, ctx: ctx, body: http.NoBody}, nil // it never ran
		}
		body, err := h.open(ctx, inst, follow, req.Params.Tail)
		if err != nil {
			return nil, err
		}
		switch {
		case body != nil:
			return &stream{handlers: h, ctx: ctx, body: body}, nil
		case !starting(inst) && inst.RunningAt != nil:
			return nil, fault.New(fault.NotFound, "The output of this instance is no longer kept.")
		case !starting(inst) || !follow: // nothing was written, or nothing yet
			return &stream{handlers: h, ctx: ctx, body: http.NoBody}, nil
		}
		if err := clock.Sleep(ctx, h.Clock, startPoll); err != nil {
			return nil, err
		}
	}
}

// starting says that the container's output may still begin.
func starting(inst *allocatorapi.Instance) bool {
	switch inst.State {
	case allocatorapi.Queued, allocatorapi.Assigned, allocatorapi.Preparing:
		return true
	}
	return false
}

// open asks the node of the instance's last seat; nil when the node has no output of it.
func (h *Handlers) open(ctx context.Context, inst *allocatorapi.Instance, follow bool, tail *int) (io.ReadCloser, error) {
	if len(inst.Slices) == 0 {
		return nil, nil
	}
	seat := inst.Slices[len(inst.Slices)-1]
	query := url.Values{}
	if follow {
		query.Set("follow", "1")
	}
	if tail != nil {
		query.Set("tail", strconv.Itoa(*tail))
	}
	path := "/logs/" + url.PathEscape(seat.Member)
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	resp, err := h.Nodes.Get(ctx, seat.Node, path)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.Wrap(fault.Unavailable, "The node "+seat.NodeName+", which keeps this output, cannot be reached right now.", err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return resp.Body, nil
	case http.StatusNotFound:
		return nil, resp.Body.Close()
	}
	_ = resp.Body.Close() // its answer is not for callers
	return nil, fault.Wrap(fault.Unavailable, "The node "+seat.NodeName+" could not read this output.", fmt.Errorf("node answered %d", resp.StatusCode))
}
