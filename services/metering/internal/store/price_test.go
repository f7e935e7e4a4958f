package store

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/metering/internal/app"
	"github.com/weirhq/weir/services/metering/internal/domain"
)

func TestStarterPricesAreWrittenOnce(t *testing.T) {
	b := setup(t)
	lines := domain.Starter()
	var wg sync.WaitGroup
	counts := make([]int, 4)
	for i := range counts { // processes that start at once
		wg.Go(func() {
			if err := b.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
				added, err := AddMissingPrices(tx, lines, at(int64(i)))
				counts[i] = len(added)
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, len(lines), counts[0]+counts[1]+counts[2]+counts[3])
	require.NoError(t, b.tx(func(tx *pg.Tx) error {
		all, err := AllPrices(tx)
		require.NoError(t, err)
		require.Len(t, all, len(lines))
		for i, p := range all {
			require.Equal(t, lines[i], domain.StarterPrice{Offering: p.Offering, Currency: p.Currency, PerHour: p.PerHour})
			require.True(t, id.Valid(id.Price, p.ID))
		}
		added, err := AddMissingPrices(tx, []domain.StarterPrice{lines[0], {Offering: "new.whole", Currency: "CNY", PerHour: 5}}, at(50))
		require.NoError(t, err)
		require.Len(t, added, 1, "only what is new")
		require.Equal(t, at(50), added[0].From)
		return nil
	}))
	for _, change := range []string{`UPDATE price_version SET per_hour_micro = 1`, `DELETE FROM price_version`} {
		err := b.tx(func(tx *pg.Tx) error { return tx.Exec(change).Error })
		require.Equal(t, "price_version_immutable", pg.Constraint(err))
	}
}

func TestPriceListPages(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.tx(func(tx *pg.Tx) error {
		for _, p := range []struct {
			id, offering, currency string
			from                   time.Time
		}{{"prc_1", "a.whole", "CNY", at(0)}, {"prc_2", "a.whole", "CNY", at(1000)}, {"prc_3", "a.whole", "USD", at(0)}, {"prc_4", "b.whole", "CNY", at(0)}} {
			if _, err := exec(tx, "insert", `INSERT INTO price_version VALUES ($1, $2, $3, 14000000, $4, $4)`, p.id, p.offering, p.currency, p.from); err != nil {
				return err
			}
		}
		return nil
	}))
	ids := func(q domain.PriceQuery) (got []string) {
		for {
			page, more, err := b.store.Prices(t.Context(), q)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), q.Limit)
			for _, p := range page {
				got = append(got, p.ID)
			}
			if !more {
				return got
			}
			k := page[len(page)-1].Key()
			q.After = &k
		}
	}
	for limit := 1; limit < 6; limit++ {
		require.Equal(t, []string{"prc_1", "prc_2", "prc_3", "prc_4"}, ids(domain.PriceQuery{Limit: limit}))
	}
	require.Equal(t, []string{"prc_1", "prc_2"}, ids(domain.PriceQuery{Limit: 9, Offering: "a.whole", Currency: "CNY"}))
	require.Empty(t, ids(domain.PriceQuery{Limit: 9, Offering: "'; DROP TABLE price_version; --"}))

	page, _, err := b.store.Prices(t.Context(), domain.PriceQuery{Limit: 9})
	require.NoError(t, err)
	require.Equal(t, at(1000), *page[0].To)
	require.Nil(t, page[1].To)
	require.Nil(t, page[2].To, "currencies are lists of their own")
}

func TestOrgKeepsItsNewestVersion(t *testing.T) {
	b := setup(t)
	for _, o := range []domain.Org{
		{ID: "org_a", Currency: "CNY", TimeZone: "Asia/Shanghai", Version: 2},
		{ID: "org_a", Currency: "CNY", TimeZone: "UTC", Version: 1},
		{ID: "org_b", Currency: "USD", TimeZone: "Nowhere", Version: 1},
	} {
		require.NoError(t, b.tx(func(tx *pg.Tx) error { return SaveOrg(tx, o) }))
	}
	for org, want := range map[string]string{"org_a": "Asia/Shanghai", "org_b": "UTC", "org_c": "UTC"} {
		require.NoError(t, b.store.View(t.Context(), org, false, func(v app.View) error {
			z, err := v.Zone()
			require.Equal(t, want, z.String())
			return err
		}))
	}
}
