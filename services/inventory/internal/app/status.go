package app

import (
	"context"
	"errors"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

// Status records what a node says of itself. Nearly always nothing changed but the time,
// and that costs one statement.
func (a *App) Status(ctx context.Context, node string, st domain.Status) error {
	if err := st.Validate(); err != nil {
		return err
	}
	verdict, err := a.record(ctx, node, st)
	switch {
	case err != nil:
		// It spoke, and we could not write it down. Only the database's absence counts: a
		// status that fails for its own sake must not keep every other node's silence unseen.
		if errors.Is(err, fault.Unavailable) {
			a.ear.Missed(a.clk.Now())
		}
		return err
	case verdict == domain.Duplicate:
		a.log.ErrorContext(ctx, "two machines hold one node's identity", "alert", "duplicate_identity", "node", node, "boot_id", st.BootID, "seq", st.Seq)
	case verdict.Ignored():
		a.log.WarnContext(ctx, "stale status ignored", "node", node, "boot_id", st.BootID, "seq", st.Seq, "verdict", string(verdict))
	}
	if verdict.Ignored() {
		return fault.New(fault.Conflict, "A newer status of this node was recorded already.")
	}
	return nil
}

func (a *App) record(ctx context.Context, node string, st domain.Status) (verdict domain.Verdict, err error) {
	err = a.store.Write(ctx, func(tx domain.Tx) error {
		verdict = domain.News
		if done, err := tx.Heartbeat(node, st, a.clk.Now()); err != nil || done {
			return err
		}
		n, err := lockSpeaker(tx, node)
		if err != nil {
			return err
		}
		seen, err := tx.Seen(node)
		if err != nil {
			return err
		}
		var old *domain.Boot
		if seen != nil && seen.BootID != st.BootID {
			if old, err = tx.OldBoot(node, st.BootID); err != nil {
				return err
			}
		}
		if verdict = domain.Judge(st, seen, old); verdict.Ignored() {
			return a.ignore(tx, n, *seen, old, verdict)
		}
		return a.merge(ctx, tx, n, st)
	})
	return verdict, err
}

// ignore counts a status that is not news. Proof of a second holder quarantines the node:
// whichever machine is right, what either says is not to be believed.
func (a *App) ignore(tx domain.Tx, n domain.Node, seen domain.Seen, old *domain.Boot, v domain.Verdict) error {
	if err := tx.CountIgnored(n.ID, seen, old); err != nil {
		return err
	}
	if v != domain.Duplicate || n.Quarantined {
		return nil
	}
	n.Quarantined, n.State, n.Reason = true, domain.NodeNotReady, domain.DuplicateIdentity
	return a.save(tx, &n)
}

// merge takes news into the node and its cards, and tells the whole node once if anything
// is different.
func (a *App) merge(ctx context.Context, tx domain.Tx, n domain.Node, st domain.Status) error {
	now := a.clk.Now()
	have, err := tx.GPUsOf(n.ID)
	if err != nil {
		return err
	}
	facts := st.FactsHash()
	moved, contested, err := a.claimCards(ctx, tx, n, &st)
	if err != nil {
		return err
	}
	if contested {
		facts = [32]byte{} // ask again at the next status
	}
	pool, err := tx.Pool(n.Pool)
	if err != nil {
		return err
	}
	all, dirty, changed := domain.Merge(&n, append(have, moved...), st, pool.DefaultPolicy, func() string { return id.New(id.GPU, now) })
	changed = changed || len(moved) > 0
	for _, g := range dirty {
		if err := tx.SaveGPU(&g, now); err != nil {
			return err
		}
	}
	if err := tx.SaveSeen(n.ID, st, facts, now); err != nil || !changed {
		return err
	}
	n.LastSeenAt = now
	if err := tx.UpdateNode(&n, now); err != nil {
		return err
	}
	return tx.Publish(n, all)
}

// claimCards finds the cards in st that are known on another node: those free to move come
// to n and leave their old node; the others are taken out of st, because a node speaks for
// its own cards only.
func (a *App) claimCards(ctx context.Context, tx domain.Tx, n domain.Node, st *domain.Status) (moved []domain.GPU, contested bool, err error) {
	uuids := make([]string, 0, len(st.Cards))
	for _, c := range st.Cards {
		uuids = append(uuids, c.UUID)
	}
	elsewhere, err := tx.Elsewhere(n.ID, uuids)
	if err != nil {
		return nil, false, err
	}
	for _, e := range elsewhere {
		if !e.Free() {
			a.log.ErrorContext(ctx, "a node names a card of another node", "alert", "contested_card", "node", n.ID, "other", e.GPU.Node, "gpu", e.GPU.ID)
			st.Cards = without(st.Cards, e.GPU.UUID)
			contested = true
			continue
		}
		g, err := a.release(tx, e.GPU, n.ID)
		if err != nil {
			return nil, false, err
		}
		moved = append(moved, g)
	}
	return moved, contested, nil
}

// release takes a card from the node that lost it and tells that node without it.
func (a *App) release(tx domain.Tx, g domain.GPU, to string) (domain.GPU, error) {
	from, err := tx.LockNode(g.Node)
	if err != nil {
		return g, err
	}
	g.Node = to
	if err := tx.SaveGPU(&g, a.clk.Now()); err != nil {
		return g, err
	}
	return g, a.save(tx, &from)
}

func without(cards []domain.Card, uuid string) []domain.Card {
	kept := make([]domain.Card, 0, len(cards))
	for _, c := range cards {
		if c.UUID != uuid {
			kept = append(kept, c)
		}
	}
	return kept
}
