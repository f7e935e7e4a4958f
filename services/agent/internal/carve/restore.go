package carve

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir/services/agent/driver"
)

// Restore brings record and machine together before Run. Under the same boot it asks nobody: what ran goes on. Under a new
// boot it starts nothing: every earlier member is gone, which is recorded after each card was read back.
func (e *Engine) Restore(ctx context.Context) error {
	boot, err := e.Driver.BootID(ctx)
	if err != nil {
		return fmt.Errorf("read the boot id: %w", err)
	}
	e.mu.Lock()
	e.boot = boot
	e.mu.Unlock()
	cards, err := e.Cards(ctx)
	if err != nil {
		return err
	}
	if err := e.Runtime.Adopt(ctx, boot, e.kick); err != nil {
		return fmt.Errorf("adopt what runs: %w", err)
	}
	recorded, _ := e.Book.Boot()
	if recorded == boot {
		return nil
	}
	if err := e.readBack(ctx, cards); err != nil {
		return err
	}
	for _, m := range e.Book.All() {
		if m.released() {
			continue
		}
		m.Final = &Final{StateGone, "new_boot", "The node was started anew."}
		m.Cleaning, m.PID = CleanedNothing, 0
		if err := e.enter(&m, PhaseReleased); err != nil {
			return err
		}
	}
	return e.Book.SetBoot(boot, false)
}

// readBack looks at every card. What it finds under a new boot is not ours: it is shown as foreign and left alone.
func (e *Engine) readBack(ctx context.Context, cards []driver.Card) error {
	for _, c := range cards {
		list, err := e.instances(ctx, c.UUID)
		switch {
		case errors.Is(err, driver.ErrLost):
			continue // nothing runs on a lost card
		case err != nil:
			return fmt.Errorf("read back card %d: %w", c.Index, err)
		case len(list) > 0:
			e.Log.Warn("slices on a card after a boot", "card", c.Index, "slices", len(list))
		}
	}
	return nil
}

// FirstReportDue reports whether this boot's first full report was not answered yet: desired is not asked before.
func (e *Engine) FirstReportDue() bool {
	_, reported := e.Book.Boot()
	return !reported
}

// FirstReportAnswered records that it was.
func (e *Engine) FirstReportAnswered() error {
	if !e.FirstReportDue() {
		return nil
	}
	return e.Book.SetBoot(e.bootID(), true)
}

// CurrentBoot is the id of this boot.
func (e *Engine) CurrentBoot() string { return e.bootID() }
