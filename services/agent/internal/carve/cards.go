package carve

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/services/agent/driver"
)

// LayoutEntry is a slice that is on a card.
type LayoutEntry struct {
	Start, Size int
	Profile     string
	Device      string
	Foreign     bool
	Member      string
}

// Cards reads the cards' facts anew.
func (e *Engine) Cards(ctx context.Context) ([]driver.Card, error) {
	var cards []driver.Card
	err := e.call(ctx, func(ctx context.Context) error {
		var err error
		cards, err = e.Driver.Cards(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the cards: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range cards {
		e.cards[c.UUID] = c
	}
	return cards, nil
}

// known is a card's facts as last read.
func (e *Engine) known(gpu string) (driver.Card, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, ok := e.cards[gpu]
	return c, ok
}

// card is a card's facts now; its mode may just have changed.
func (e *Engine) card(ctx context.Context, gpu string) (driver.Card, error) {
	if _, err := e.Cards(ctx); err != nil {
		return driver.Card{}, driverFailure("read the cards", err)
	}
	c, ok := e.known(gpu)
	if !ok {
		return driver.Card{}, &failure{"gpu_not_found", "This node has no card " + gpu + "."}
	}
	if c.Lost {
		return driver.Card{}, &failure{"gpu_lost", fmt.Sprintf("Card %d is lost.", c.Index)}
	}
	return c, nil
}

// Layout is what is on a card. A card that is being worked on, or does not answer, shows what it last did.
func (e *Engine) Layout(ctx context.Context, gpu string) []LayoutEntry {
	unlock, idle := e.locks.tryLock(gpu)
	if idle {
		defer unlock()
		if list, err := e.instances(ctx, gpu); err == nil {
			e.remember(gpu, list)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.layouts[gpu]
}

func (e *Engine) remember(gpu string, list []driver.Instance) {
	entries := make([]LayoutEntry, 0, len(list))
	for _, i := range list {
		member, ours := e.owner(gpu, i)
		l := LayoutEntry{Start: i.Placement.Start, Size: i.Placement.Size, Profile: i.Profile, Foreign: !ours, Member: member}
		if len(i.Compute) > 0 {
			l.Device = i.Compute[0].UUID
		}
		entries = append(entries, l)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.layouts[gpu] = entries
}
