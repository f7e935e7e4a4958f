package work

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/metering/internal/domain"
	"github.com/weirhq/weir/services/metering/internal/store"
)

// PricesFeed is the name of the feed of price versions.
const PricesFeed = "prices"

// ListPrices reads every price version, for a reader that lost its place.
func ListPrices(ctx context.Context, db *pg.DB) (items []outbox.Item, err error) {
	err = db.InTx(ctx, pg.Scope{ReadOnly: true}, func(tx *pg.Tx) error {
		all, err := store.AllPrices(tx)
		if err != nil {
			return err
		}
		items = items[:0]
		for _, p := range all {
			key, item := ItemOf(p)
			data, err := json.Marshal(item)
			if err != nil {
				return fmt.Errorf("encode price %s: %w", p.ID, err)
			}
			items = append(items, outbox.Item{ID: p.ID, Key: key, At: p.From, Data: data})
		}
		return nil
	})
	return items, err
}

// PublishStarter writes the starter price list where prices are missing, and tells the feed.
// business dates the prices, real the feed's items.
func PublishStarter(ctx context.Context, db *pg.DB, business, real clock.Clock) error {
	err := db.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		added, err := store.AddMissingPrices(tx, domain.Starter(), business.Now())
		if err != nil {
			return err
		}
		for _, p := range added {
			key, item := ItemOf(p)
			if err := outbox.Put(tx, real, PricesFeed, key, "", item); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("publish the starter prices: %w", err)
	}
	return nil
}
