package simnode

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/services/agent/runtime"
)

// deafRuntime is a runtime whose members can be made deaf to kill.
type deafRuntime struct {
	runtime.Runtime
	deaf atomic.Bool
}

// Stop does not reach a deaf member, however long it waits.
func (d *deafRuntime) Stop(ctx context.Context, member string, grace time.Duration) (runtime.State, error) {
	if d.deaf.Load() {
		state, err := d.Observe(ctx, member)
		if err != nil || state.Phase != runtime.Running {
			return state, err
		}
		return state, fmt.Errorf("member %s: %w", member, runtime.ErrStillRunning)
	}
	return d.Runtime.Stop(ctx, member, grace)
}
