package reconcile_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/obs"
	"github.com/weirhq/weir/pkg/kit/reconcile"
)

// harness runs a loop whose passes are reported on a channel.
type harness struct {
	clk    *clock.Fake
	bell   reconcile.Bell
	passes chan error // what fn shall answer
	ran    chan struct{}
	done   chan error
	stop   context.CancelFunc
	log    *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T) *harness {
	h := &harness{clk: clock.NewFake(time.Unix(0, 0)), bell: reconcile.NewBell(), passes: make(chan error, 8), ran: make(chan struct{}, 8), done: make(chan error, 1), log: &lockedBuffer{}}
	var ctx context.Context
	ctx, h.stop = context.WithCancel(obs.WithLogger(t.Context(), slog.New(slog.NewTextHandler(h.log, nil))))
	t.Cleanup(h.stop)
	w := reconcile.Loop("look", h.clk, time.Minute, h.bell.C(), func(ctx context.Context) error {
		h.ran <- struct{}{}
		select {
		case err := <-h.passes:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	require.Equal(t, "look", w.Name)
	go func() { h.done <- w.Run(ctx) }()
	return h
}

func TestLoopRunsAtOnceThenEverySoOftenAndWhenWoken(t *testing.T) {
	t.Parallel()
	h := start(t)
	<-h.ran
	h.bell.Ring() // while at work: kept
	h.bell.Ring() // and only once
	h.passes <- nil
	<-h.ran
	h.passes <- nil
	require.NoError(t, h.clk.AwaitWaiters(t.Context(), 2)) // the first is of the wait that the bell ended
	h.clk.Advance(time.Minute)
	<-h.ran
	h.stop()
	require.NoError(t, <-h.done, "the end of the context is no failure")
}

func TestLoopBacksOffAndRecovers(t *testing.T) {
	t.Parallel()
	h := start(t)
	<-h.ran
	h.passes <- errors.New("database away")
	require.NoError(t, h.clk.AwaitWaiters(t.Context(), 1))
	h.bell.Ring() // must not hurry it
	h.clk.Advance(99 * time.Millisecond)
	require.Empty(t, h.ran)
	h.clk.Advance(time.Minute)
	<-h.ran
	require.Contains(t, h.log.String(), "database away")
	h.passes <- nil
	<-h.ran // the ring from before
	h.passes <- nil
	h.stop()
	require.NoError(t, <-h.done)
}
