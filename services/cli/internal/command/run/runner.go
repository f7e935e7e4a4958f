package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

// runner is one `weir run`.
type runner struct {
	sh    *shell.Shell
	c     *call.Client
	quiet bool
	id    string

	stopOnce sync.Once
	stop     chan struct{} // closed when somebody asked to stop the instance
}

// start runs from renting to the end.
func start(ctx context.Context, sh *shell.Shell, f flags, body allocatorapi.InstanceCreate) error {
	c, err := sh.Client()
	if err != nil {
		return err
	}
	r := &runner{sh: sh, c: c, quiet: f.quiet, stop: make(chan struct{})}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	sh.OnInterrupt(func(os.Signal) {
		if r.asked() {
			leave()
			return
		}
		sh.Sayf("weir: stopping the instance (again: leave without waiting)")
		r.askStop()
	})
	ins, err := r.create(ctx, rand.Text(), body)
	if err != nil {
		return err
	}
	r.id = ins.ID
	r.sayf("%s rented: %s at %s %s/h", ins.ID, ins.Offering, output.Amount(ins.Price.PerHour), ins.Price.Currency)
	if f.detach {
		_, err := fmt.Fprintln(sh.Out, ins.ID)
		return err
	}
	end, err := r.attend(ctx, ins)
	if end == nil {
		return r.left(ctx, err)
	}
	if f.rm {
		if err := r.remove(ctx); err != nil {
			sh.Sayf("weir: %s could not be deleted: %v", r.id, err)
		}
	}
	if err != nil {
		return err
	}
	return r.outcome(end)
}

// askStop asks for the instance to be stopped; once is enough.
func (r *runner) askStop() { r.stopOnce.Do(func() { close(r.stop) }) }

func (r *runner) asked() bool {
	select {
	case <-r.stop:
		return true
	default:
		return false
	}
}

// sayf tells how things go.
func (r *runner) sayf(format string, args ...any) {
	if !r.quiet {
		r.sh.Sayf("weir: "+format, args...)
	}
}

// left ends a run that stopped attending before its instance ended.
func (r *runner) left(ctx context.Context, err error) error {
	r.sh.Sayf("weir: %s goes on without us; see: weir instances show %s", r.id, r.id)
	if ctx.Err() != nil {
		return &failure.Exit{Code: failure.Interrupted}
	}
	return err
}

// remove deletes the instance, with some patience.
func (r *runner) remove(ctx context.Context) error {
	return r.insist(ctx, func() error {
		_, err := r.c.Allocator.DeleteInstanceWithResponse(ctx, r.id)
		return err
	})
}

// insist repeats what is safe to repeat while the deployment does not answer.
func (r *runner) insist(ctx context.Context, do func() error) error {
	deadline := r.sh.Clock.Now().Add(createPatience)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := do()
		if err == nil || !again(err) || r.sh.Clock.Now().After(deadline) {
			return err
		}
		if serr := clock.Sleep(ctx, r.sh.Clock, max(pause, retryAfter(err))); serr != nil {
			return errors.Join(serr, err)
		}
	}
}

// outcome is how the run ends: as the command did, if it did.
func (r *runner) outcome(end *allocatorapi.Instance) error {
	if code := end.ExitCode; code != nil {
		switch {
		case *code == 0:
			return nil
		case *code > 0 && *code < 256:
			return &failure.Exit{Code: *code}
		}
		return &failure.Exit{Code: failure.Failed}
	}
	reason := output.Or(end.StateReason)
	if end.State == allocatorapi.Stopped && reason == "completed" {
		return nil
	}
	if r.asked() {
		return &failure.Exit{Code: failure.Interrupted}
	}
	text := fmt.Sprintf("%s %s: %s", end.ID, end.State, reason)
	if end.StateDetail != nil && *end.StateDetail != "" {
		text += ": " + *end.StateDetail
	}
	return errors.New(text)
}

// seconds is a duration for people.
func seconds(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }
