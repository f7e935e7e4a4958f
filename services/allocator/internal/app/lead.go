package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// Run leads whenever it can, until ctx ends.
func (w *Writer) Run(ctx context.Context) error {
	failed := time.Duration(0)
	for ctx.Err() == nil {
		led, err := w.lead(ctx)
		switch {
		case ctx.Err() != nil:
		case err == nil || led:
			failed = 0
			if err != nil {
				w.deps.Log.WarnContext(ctx, "the admission writer stepped down", "err", err)
			}
		default: // the database is away, or what it holds cannot be loaded
			failed = min(max(2*failed, electEvery), maxElectBackoff)
			w.deps.Log.WarnContext(ctx, "the admission writer cannot lead", "err", err, "again_in", electEvery+failed)
		}
		w.refuseQueued(errNotLeading())
		if clock.Sleep(ctx, w.deps.Real, electEvery+failed) != nil {
			break
		}
	}
	w.refuseQueued(errNotLeading())
	return nil
}

const (
	electEvery      = 250 * time.Millisecond
	maxElectBackoff = 2 * time.Second
	renewEvery      = time.Second
)

// lead tries to become the writer and serves until the term ends.
func (w *Writer) lead(ctx context.Context) (led bool, err error) {
	term, err := w.deps.Ledger.Lead(ctx, w.cfg.Address)
	if err != nil || term == nil {
		return false, err
	}
	defer func() {
		if err := term.Close(); err != nil {
			w.deps.Log.WarnContext(ctx, "end of the term", "err", err)
		}
	}()
	img, err := w.deps.Ledger.Load(ctx)
	if err != nil {
		return false, err
	}
	w.mem = nil
	if err := w.install(img); err != nil {
		return false, err
	}
	w.listening = w.deps.Real.Now()
	w.lastTick, w.lastBeat = w.listening, time.Time{}
	return true, w.serve(ctx, term)
}

// install makes a loaded state the writer's memory.
func (w *Writer) install(img *domain.Image) error {
	m, err := newMemory(img)
	if err != nil {
		return err
	}
	m.keepProofs(w.mem)
	old := w.mem
	w.mem = m
	if old != nil {
		m.version = old.version + 1
	}
	real := w.deps.Real.Now()
	for _, n := range m.nodes {
		m.setNode(n)
		m.putNode(n, w.sells(n, real))
	}
	m.pending = m.revise()
	w.views.replace(m)
	return nil
}

// serve runs a term: it renews the lease, runs what runs while leading, and takes batches.
func (w *Writer) serve(ctx context.Context, term domain.Term) error {
	ctx, end := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end(nil)
	defer w.leading.Store(false)
	wg.Go(func() {
		for clock.Sleep(ctx, w.deps.Real, renewEvery) == nil {
			if err := term.Renew(ctx); err != nil {
				end(fmt.Errorf("renew the lease: %w", err))
			}
		}
	})
	w.epoch.Store(term.Epoch())
	if err := w.process(ctx, term.Epoch(), []*op{{plan: w.tick, done: make(chan error, 1)}}); err != nil {
		return err
	}
	w.leading.Store(true)
	w.deps.Log.InfoContext(ctx, "admission writer leads", "epoch", term.Epoch(), "instances", len(w.mem.instances), "nodes", len(w.mem.nodes))
	for _, fn := range w.onLead {
		wg.Go(func() {
			if err := fn(ctx, term.Epoch()); err != nil && ctx.Err() == nil {
				end(err)
			}
		})
	}
	err := w.batches(ctx, term.Epoch())
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}
