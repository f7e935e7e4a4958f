package store

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/metering/internal/meter"
)

// Books is what is stored about members, inside the transaction that applies facts.
type Books struct{ tx *pg.Tx }

// BooksOf returns the books as tx sees them.
func BooksOf(tx *pg.Tx) Books { return Books{tx} }

// Progress is how far the feed has been applied: its position and how late it was there.
// It is locked until the transaction ends: one batch at a time.
func (b Books) Progress() (pos int64, asOf time.Time, err error) {
	var t sql.NullTime
	row := b.tx.Statement.ConnPool.QueryRowContext(b.tx.Context(), `SELECT pos, CASE WHEN isfinite(as_of) THEN as_of END FROM progress FOR UPDATE`)
	if err := row.Scan(&pos, &t); err != nil {
		return 0, asOf, fmt.Errorf("read progress: %w", err)
	}
	return pos, t.Time, nil
}

// Load reads all there is about the members.
func (b Books) Load(members []string) (intervals []meter.Interval, ended []string, err error) {
	// A join, not = ANY: a GiST index answers one key at a time.
	err = query(b.tx, "read members' intervals", `SELECT i.id, i.org, i.project, i.instance, i.member, i.offering, i.offering_version, i.price_version, i.per_hour_micro,
			i.currency, i.cards, i.gpue_micro, lower(i.during), upper(i.during), i.opened_by, coalesce(i.closed_by, ''), coalesce(i.end_reason, '')
		FROM unnest($1::text[]) AS m(member) JOIN interval i ON i.member = m.member`, func(rows *sql.Rows) (bool, error) {
		i, err := scanInterval(rows)
		intervals = append(intervals, i)
		return true, err
	}, members)
	if err != nil {
		return nil, nil, err
	}
	err = query(b.tx, "read members' ends", `SELECT member FROM member_end WHERE member = ANY($1)`, func(rows *sql.Rows) (bool, error) {
		var m string
		err := rows.Scan(&m)
		ended = append(ended, m)
		return true, err
	}, members)
	return intervals, ended, err
}

func scanInterval(rows *sql.Rows) (i meter.Interval, err error) {
	var perHour int64
	var end sql.NullTime
	err = rows.Scan(&i.ID, &i.Org, &i.Project, &i.Instance, &i.Member, &i.Offering, &i.OfferingVersion, &i.PriceVersion, &perHour,
		&i.Currency, &i.Cards, &i.GPUeMicro, &i.Start, &end, &i.OpenedBy, &i.ClosedBy, &i.EndReason)
	i.PerHour, i.End = money.Micro(perHour), end.Time
	return i, err
}

// NewID names an interval.
func NewID(now time.Time) string { return id.New(id.Interval, now) }

// exactly makes a statement that touched other rows than it was meant for an error: the books
// were locked, so it cannot be a race.
func exactly(n int64, want int, err error) error {
	if err == nil && n != int64(want) {
		return fmt.Errorf("%d rows of %d: the books changed under their lock", n, want)
	}
	return err
}
