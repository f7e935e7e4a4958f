package store

import (
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/metering/internal/domain"
	"github.com/weirhq/weir/services/metering/internal/rate"
)

// view is app.View on one transaction.
type view struct {
	tx  *pg.Tx
	org string
}

// AsOf is the zero time while nothing was ever applied.
func (v *view) AsOf() (asOf time.Time, err error) {
	var t sql.NullTime
	row := v.tx.Statement.ConnPool.QueryRowContext(v.tx.Context(), `SELECT CASE WHEN isfinite(as_of) THEN as_of END FROM progress`)
	if err := row.Scan(&t); err != nil {
		return asOf, fmt.Errorf("read progress: %w", err)
	}
	return t.Time, nil
}

func (v *view) Zone() (*time.Location, error) {
	var name string
	row := v.tx.Statement.ConnPool.QueryRowContext(v.tx.Context(), `SELECT time_zone FROM org WHERE id = $1`, v.org)
	if err := row.Scan(&name); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read the org: %w", err)
	}
	return domain.Zone(name), nil // an org whose news has not arrived yet counts in UTC
}

const chargeColumns = `i.project, i.offering, i.instance, i.currency, lower(i.during), upper(i.during), i.per_hour_micro, i.cards, i.gpue_micro`

func (v *view) Charges(from, to, openUntil time.Time, project string) iter.Seq2[rate.Charge, error] {
	return func(yield func(rate.Charge, error) bool) {
		going := true
		err := query(v.tx, "read intervals", `SELECT `+chargeColumns+` FROM interval i
			WHERE i.org = $1 AND i.during && tstzrange($2, $3, '[)') AND ($4 = '' OR i.project = $4)
			ORDER BY lower(i.during), i.id`, func(rows *sql.Rows) (bool, error) {
			c, err := scanCharge(rows, openUntil)
			if err != nil {
				return false, err
			}
			going = yield(c, nil)
			return going, nil
		}, v.org, from, to, project)
		if err != nil && going {
			yield(rate.Charge{}, err)
		}
	}
}

func (v *view) ChargesOf(instances []string, openUntil time.Time, project string) (charges []rate.Charge, err error) {
	err = query(v.tx, "read intervals of instances", `SELECT `+chargeColumns+` FROM interval i
		WHERE i.instance = ANY($1) AND ($2 = '' OR i.project = $2)`, func(rows *sql.Rows) (bool, error) {
		c, err := scanCharge(rows, openUntil)
		charges = append(charges, c)
		return true, err
	}, instances, project)
	return charges, err
}

func scanCharge(rows *sql.Rows, openUntil time.Time) (rate.Charge, error) {
	var c rate.Charge
	var end sql.NullTime
	var perHour int64
	if err := rows.Scan(&c.Project, &c.Offering, &c.Instance, &c.Currency, &c.Start, &end, &perHour, &c.Cards, &c.GPUeMicro); err != nil {
		return c, err
	}
	c.PerHour, c.Open, c.End = money.Micro(perHour), !end.Valid, end.Time
	if c.Open {
		c.End = openUntil
	}
	return c, nil
}
