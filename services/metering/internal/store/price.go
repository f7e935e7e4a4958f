package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/metering/internal/domain"
)

// Prices is a page of the price list, by offering, currency and date.
func (s *Store) Prices(ctx context.Context, q domain.PriceQuery) (page []domain.Price, more bool, err error) {
	err = s.api.InTx(ctx, pg.Scope{ReadOnly: true}, func(tx *pg.Tx) error {
		page, more, err = prices(tx, q)
		return err
	})
	return page, more, err
}

func prices(tx *pg.Tx, q domain.PriceQuery) (page []domain.Price, more bool, err error) {
	after := q.After
	if after == nil {
		after = &domain.PriceKey{}
	}
	err = query(tx, "read prices", `SELECT id, offering, currency, per_hour_micro, effective_from, effective_to FROM (
			SELECT *, lead(effective_from) OVER (PARTITION BY offering, currency ORDER BY effective_from) AS effective_to FROM price_version
			WHERE ($1 = '' OR offering = $1) AND ($2 = '' OR currency = $2)) p
		WHERE (offering, currency, effective_from) > ($3, $4, $5) ORDER BY offering, currency, effective_from LIMIT $6`,
		func(rows *sql.Rows) (bool, error) {
			if more = len(page) == q.Limit; more {
				return false, nil
			}
			p, err := scanPrice(rows)
			page = append(page, p)
			return true, err
		}, q.Offering, q.Currency, after.Offering, after.Currency, after.From, q.Limit+1)
	return page, more, err
}

// AllPrices is every version, for the feed's list.
func AllPrices(tx *pg.Tx) (all []domain.Price, err error) {
	err = query(tx, "read prices", `SELECT id, offering, currency, per_hour_micro, effective_from, NULL::timestamptz FROM price_version
		ORDER BY offering, currency, effective_from`, func(rows *sql.Rows) (bool, error) {
		p, err := scanPrice(rows)
		all = append(all, p)
		return true, err
	})
	return all, err
}

func scanPrice(rows *sql.Rows) (p domain.Price, err error) {
	var micro int64
	err = rows.Scan(&p.ID, &p.Offering, &p.Currency, &micro, &p.From, &p.To)
	p.PerHour = money.Micro(micro)
	return p, err
}

// AddMissingPrices writes a first version, from now on, for each line whose offering and
// currency have none, and returns those it wrote. Two processes that start at once write
// each line once.
func AddMissingPrices(tx *pg.Tx, lines []domain.StarterPrice, now time.Time) (added []domain.Price, err error) {
	if _, err := exec(tx, "lock the price list", `SELECT pg_advisory_xact_lock(hashtextextended('metering.price_version', 0))`); err != nil {
		return nil, err
	}
	now = now.UTC().Truncate(time.Millisecond)
	rows := make([]priceRow, len(lines))
	for i, l := range lines {
		rows[i] = priceRow{id.New(id.Price, now), l.Offering, l.Currency, int64(l.PerHour)}
	}
	table, err := recordset(rows)
	if err != nil {
		return nil, err
	}
	err = query(tx, "write the starter prices", `INSERT INTO price_version (id, offering, currency, per_hour_micro, effective_from, created_at)
		SELECT l.id, l.offering, l.currency, l.micro, $2, $2 FROM json_to_recordset($1) AS l(id text, offering text, currency text, micro bigint)
		WHERE NOT EXISTS (SELECT FROM price_version p WHERE p.offering = l.offering AND p.currency = l.currency)
		RETURNING id, offering, currency, per_hour_micro, effective_from, NULL::timestamptz`, func(rows *sql.Rows) (bool, error) {
		p, err := scanPrice(rows)
		added = append(added, p)
		return true, err
	}, table, now)
	return added, err
}

type priceRow struct {
	ID       string `json:"id"`
	Offering string `json:"offering"`
	Currency string `json:"currency"`
	Micro    int64  `json:"micro"`
}
