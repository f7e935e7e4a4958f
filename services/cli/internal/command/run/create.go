package run

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/cli/internal/call"
)

const (
	createPatience = 45 * time.Second
	firstPause     = 250 * time.Millisecond
	longestPause   = 3 * time.Second
)

// create rents. When the answer is lost or a part is not there for a moment, the same request
// goes again under the same key, so that it is rented once.
func (r *runner) create(ctx context.Context, key string, body allocatorapi.InstanceCreate) (*allocatorapi.Instance, error) {
	deadline := r.sh.Clock.Now().Add(createPatience)
	for attempt, pause := 1, firstPause; ; attempt, pause = attempt+1, min(2*pause, longestPause) {
		resp, err := r.c.Allocator.CreateInstanceWithResponse(ctx, &allocatorapi.CreateInstanceParams{IdempotencyKey: key}, body)
		if err == nil {
			return call.Body(resp.JSON201, nil)
		}
		switch {
		case ctx.Err() != nil:
			r.sh.Sayf("weir: left while renting; it may have been rented: weir instances ls --name %s", body.Name)
			return nil, err
		case !again(err), attempt == 1 && errors.Is(err, syscall.ECONNREFUSED): // nothing was there, so nothing was lost
			return nil, err
		case r.asked(), r.sh.Clock.Now().After(deadline):
			r.sh.Sayf("weir: giving up; it may have been rented: weir instances ls --name %s", body.Name)
			return nil, err
		}
		r.sayf("%v; trying again", err)
		if err := clock.Sleep(ctx, r.sh.Clock, max(pause, retryAfter(err))); err != nil {
			return nil, err
		}
	}
}

// again reports whether the same request may succeed later.
func again(err error) bool {
	return errors.Is(err, fault.Unavailable) || errors.Is(err, fault.RateLimited)
}

// retryAfter is how long the server asked to wait, up to a bound.
func retryAfter(err error) time.Duration {
	var f *fault.Error
	if errors.As(err, &f) {
		return min(f.RetryAfter, 10*time.Second)
	}
	return 0
}
