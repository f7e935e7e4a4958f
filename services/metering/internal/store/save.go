package store

import (
	"time"

	"github.com/weirhq/weir/services/metering/internal/meter"
)

// Save stores what changed, and how far the feed has been applied with it.
func (b Books) Save(d meter.Delta, asOf time.Time) error {
	for _, step := range []func(meter.Delta) error{b.remove, b.close, b.insert, b.end, b.refuse} {
		if err := step(d); err != nil {
			return err
		}
	}
	_, err := exec(b.tx, "write progress", `UPDATE progress SET pos = $1, as_of = greatest(as_of, $2)`, d.Pos, asOf)
	return err
}

func (b Books) remove(d meter.Delta) error {
	if len(d.Remove) == 0 {
		return nil
	}
	n, err := exec(b.tx, "remove empty intervals", `DELETE FROM interval WHERE id = ANY($1)`, d.Remove)
	return exactly(n, len(d.Remove), err)
}

func (b Books) close(d meter.Delta) error {
	return each(b, d.Close, closeOf, "close intervals", `UPDATE interval i
		SET during = tstzrange(lower(i.during), c.until, '[)'), closed_by = c.closed_by, end_reason = c.end_reason
		FROM json_to_recordset($1) AS c(id text, until timestamptz, closed_by text, end_reason text) WHERE i.id = c.id`)
}

func (b Books) insert(d meter.Delta) error {
	return each(b, d.Insert, intervalOf, "write intervals", `INSERT INTO interval (id, org, project, instance, member, offering, offering_version,
			price_version, per_hour_micro, currency, cards, gpue_micro, during, opened_by, closed_by, end_reason)
		SELECT id, org, project, instance, member, offering, offering_version,
			price_version, per_hour_micro, currency, cards, gpue_micro, tstzrange(since, until, '[)'), opened_by, closed_by, end_reason
		FROM json_to_recordset($1) AS n(id text, org text, project text, instance text, member text, offering text, offering_version bigint,
			price_version text, per_hour_micro bigint, currency text, cards bigint, gpue_micro bigint, since timestamptz, until timestamptz,
			opened_by text, closed_by text, end_reason text)`)
}

func (b Books) end(d meter.Delta) error {
	return each(b, d.Ends, endOf, "write members' ends", `INSERT INTO member_end (member, org, instance, at, item, reason)
		SELECT member, org, instance, at, item, reason
		FROM json_to_recordset($1) AS e(member text, org text, instance text, at timestamptz, item text, reason text)`)
}

func (b Books) refuse(d meter.Delta) error {
	return each(b, d.Refused, refusalOf, "write refusals", `INSERT INTO refused_fact (item, member, code, detail, at)
		SELECT item, member, code, detail, at
		FROM json_to_recordset($1) AS r(item text, member text, code text, detail text, at timestamptz)`)
}

// each runs a statement that touches one row for each of the given ones.
func each[T, R any](b Books, all []T, row func(T) R, what, query string) error {
	if len(all) == 0 {
		return nil
	}
	rows := make([]R, len(all))
	for i, t := range all {
		rows[i] = row(t)
	}
	table, err := recordset(rows)
	if err != nil {
		return err
	}
	n, err := exec(b.tx, what, query, table)
	return exactly(n, len(all), err)
}
