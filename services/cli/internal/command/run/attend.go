package run

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/output"
)

const (
	watchStarting = 150 * time.Millisecond
	watchRunning  = time.Second
	// outagePatience is how long the deployment may be away: work goes on without it.
	outagePatience = 10 * time.Minute
	// outputPatience is how long the output may take to end after the command has.
	outputPatience = 5 * time.Second
)

// attend watches the instance to its end, shows its states, and brings its output. It
// returns the ended instance, with an error when its output could not be written; without
// the instance it gave up before.
func (r *runner) attend(ctx context.Context, ins *allocatorapi.Instance) (*allocatorapi.Instance, error) {
	go r.stopWhenAsked(ctx)
	out := newOutput(r)
	shown := ""
	for {
		shown = r.show(ins, shown)
		if ins.RunningAt != nil {
			out.start(ctx)
		}
		if ended(ins) {
			return ins, out.finish(ctx)
		}
		pause := watchRunning
		if ins.RunningAt == nil || r.asked() {
			pause = watchStarting
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-out.news: // the output ended: the state will follow
		case <-r.sh.Clock.After(pause):
		}
		var err error
		if ins, err = r.look(ctx); err != nil {
			return nil, err
		}
	}
}

func ended(i *allocatorapi.Instance) bool {
	switch i.State {
	case allocatorapi.Stopped, allocatorapi.Failed, allocatorapi.Lost:
		return true
	}
	return false
}

// stopWhenAsked sends the request to stop, once.
func (r *runner) stopWhenAsked(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-r.stop:
	}
	err := r.insist(ctx, func() error {
		_, err := r.c.Allocator.StopInstanceWithResponse(ctx, r.id)
		return err
	})
	if err != nil && ctx.Err() == nil {
		r.sh.Sayf("weir: %s could not be stopped: %v", r.id, err)
	}
}

// look reads the instance, and waits out a deployment that does not answer.
func (r *runner) look(ctx context.Context) (*allocatorapi.Instance, error) {
	since, said := r.sh.Clock.Now(), false
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		resp, err := r.c.Allocator.GetInstanceWithResponse(ctx, r.id)
		if err == nil {
			if said {
				r.sayf("the deployment answers again")
			}
			return call.Body(resp.JSON200, nil)
		}
		if !again(err) || r.sh.Clock.Now().Sub(since) > outagePatience {
			return nil, err
		}
		if !said {
			r.sayf("%v The command goes on; waiting.", err)
			said = true
		}
		if err := clock.Sleep(ctx, r.sh.Clock, max(pause, retryAfter(err))); err != nil {
			return nil, err
		}
	}
}

// show says a state that is new, and returns it.
func (r *runner) show(i *allocatorapi.Instance, shown string) string {
	now := string(i.State)
	if i.StateReason != nil {
		now += " (" + *i.StateReason + ")"
	}
	if now == shown {
		return shown
	}
	text := now
	switch {
	case i.State == allocatorapi.Running && i.RunningAt != nil:
		text += fmt.Sprintf(" after %s", seconds(i.RunningAt.Sub(i.CreatedAt)))
		if len(i.Slices) > 0 {
			text += " on " + i.Slices[0].NodeName
		}
	case ended(i) && i.CostSoFar != nil:
		text += fmt.Sprintf(", cost so far %s %s", output.Amount(i.CostSoFar.Amount), i.CostSoFar.Currency)
	}
	r.sayf("%s %s", i.ID, text)
	return now
}
