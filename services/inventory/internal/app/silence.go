package app

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/services/inventory/internal/domain"
)

// MarkSilent makes every node not ready that was not heard of for the node time-out while
// the server listened.
func (a *App) MarkSilent(ctx context.Context) error {
	if stalled := a.ear.Tick(a.clk.Now()); stalled != 0 {
		a.log.WarnContext(ctx, "the server did not listen; every node gets its whole time-out again", "seconds", stalled.Seconds())
	}
	if err := a.markSilent(ctx); err != nil {
		a.ear.Missed(a.clk.Now())
		return err
	}
	return nil
}

func (a *App) markSilent(ctx context.Context) error {
	now := a.clk.Now()
	cutoff, ok := a.ear.Cutoff(now, a.cfg.NodeTimeout)
	if !ok {
		return nil
	}
	future := now.Add(domain.MaxGap)
	var silent []string
	err := a.store.Write(ctx, func(tx domain.Tx) (err error) { silent, err = tx.SilentNodes(cutoff, future); return err })
	if err != nil {
		return fmt.Errorf("find silent nodes: %w", err)
	}
	for _, node := range silent {
		if err := a.markOne(ctx, node, cutoff, future); err != nil {
			return fmt.Errorf("mark node %s as silent: %w", node, err)
		}
	}
	return nil
}

// markOne decides again with the node locked: it may have spoken since, or the server been
// found deaf.
func (a *App) markOne(ctx context.Context, node string, cutoff, future time.Time) error {
	marked := false
	var last time.Time
	err := a.store.Write(ctx, func(tx domain.Tx) error {
		marked = false
		n, err := tx.LockNode(node)
		if err != nil || !n.Alive() {
			return err
		}
		seen, err := tx.Seen(node)
		if err != nil || seen == nil || !seen.At.Before(cutoff) && !seen.At.After(future) {
			return err
		}
		if _, ok := a.ear.Cutoff(a.clk.Now(), a.cfg.NodeTimeout); !ok {
			return nil
		}
		n.State, n.Reason = domain.NodeNotReady, domain.Silent
		marked, last = true, seen.At
		return a.save(tx, &n)
	})
	if err == nil && marked {
		a.log.WarnContext(ctx, "node is silent", "node", node, "last_seen_at", last)
	}
	return err
}

// keep is how long ended tokens, certificates and boots stay.
const keep = 30 * 24 * time.Hour

// Sweep forgets what ended long ago.
func (a *App) Sweep(ctx context.Context) error {
	return a.store.Write(ctx, func(tx domain.Tx) error { return tx.Sweep(a.clk.Now().Add(-keep)) })
}
