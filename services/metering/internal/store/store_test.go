package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
	"github.com/weirhq/weir/services/metering/internal/app"
	"github.com/weirhq/weir/services/metering/internal/meter"
	"github.com/weirhq/weir/services/metering/internal/rate"
)

var epoch = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

func at(ms int64) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

type bundle struct {
	t         *testing.T
	api, work *pg.DB
	store     *Store
}

func setup(t *testing.T) *bundle {
	t.Parallel()
	d := pgtest.New(t, "metering")
	b := &bundle{t: t, api: pgtest.Open(t, d, "metering", pg.API, 2), work: pgtest.Open(t, d, "metering", pg.Work, 4)}
	b.store = New(b.api)
	return b
}

// tx runs fn as a background loop.
func (b *bundle) tx(fn func(tx *pg.Tx) error) error {
	b.t.Helper()
	return b.work.InTx(b.t.Context(), pg.Scope{}, fn)
}

func interval(id, org, member string, start, end int64) meter.Interval {
	i := meter.Interval{ID: id, Start: at(start), OpenedBy: "itm_open", Pin: meter.Pin{
		Org: org, Project: "prj_1", Instance: "ins_" + member, Member: member, Offering: "h100-80gb.1g.10gb", OfferingVersion: 3,
		PriceVersion: "prc_1", PerHour: 1_720_000, Currency: "CNY", Cards: 1, GPUeMicro: 122_414,
	}}
	if end >= 0 {
		i.End, i.ClosedBy, i.EndReason = at(end), "itm_close", "user"
	}
	return i
}

func (b *bundle) save(d meter.Delta, asOf time.Time) error {
	b.t.Helper()
	return b.tx(func(tx *pg.Tx) error { return BooksOf(tx).Save(d, asOf) })
}

// charges reads what org sees.
func (b *bundle) charges(org string, from, to int64) (all []rate.Charge) {
	b.t.Helper()
	require.NoError(b.t, b.store.View(b.t.Context(), org, false, func(v app.View) error {
		all = nil
		for c, err := range v.Charges(at(from), at(to), at(5000), "") {
			require.NoError(b.t, err)
			all = append(all, c)
		}
		return nil
	}))
	return all
}

func TestBooksReadBackWhatTheySaved(t *testing.T) {
	b := setup(t)
	open, shut := interval("ivl_b", "org_a", "mem_1", 2000, -1), interval("ivl_a", "org_a", "mem_1", 0, 1000)
	require.NoError(t, b.save(meter.Delta{Pos: 7, Insert: []meter.Interval{shut, open, interval("ivl_c", "org_a", "mem_2", 0, 10)},
		Ends:    []meter.End{{Member: "mem_2", Org: "org_a", Instance: "ins_mem_2", At: at(10), Item: "itm_close", Reason: "user"}},
		Refused: []meter.Refusal{{Item: "itm_x", Member: "mem_9", Code: meter.Overlap, Detail: "then", At: at(4)}},
	}, at(3000)))
	require.NoError(t, b.tx(func(tx *pg.Tx) error {
		books := BooksOf(tx)
		intervals, ended, err := books.Load([]string{"mem_1", "mem_2", "mem_3"})
		require.NoError(t, err)
		require.ElementsMatch(t, []meter.Interval{shut, open, interval("ivl_c", "org_a", "mem_2", 0, 10)}, intervals)
		require.Equal(t, []string{"mem_2"}, ended)
		pos, asOf, err := books.Progress()
		require.NoError(t, err)
		require.Equal(t, int64(7), pos)
		require.Equal(t, at(3000), asOf)
		return nil
	}))

	open.End, open.ClosedBy, open.EndReason = at(2500), "itm_later", "silence"
	require.NoError(t, b.save(meter.Delta{Pos: 8, Close: []meter.Interval{open}}, at(1000)))
	require.NoError(t, b.tx(func(tx *pg.Tx) error {
		intervals, _, err := BooksOf(tx).Load([]string{"mem_1"})
		require.NoError(t, err)
		require.ElementsMatch(t, []meter.Interval{shut, open}, intervals)
		_, asOf, err := BooksOf(tx).Progress()
		require.NoError(t, err)
		require.Equal(t, at(3000), asOf, "what is known never becomes less")
		return nil
	}))
}

func TestNothingWasAppliedYet(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.tx(func(tx *pg.Tx) error {
		pos, asOf, err := BooksOf(tx).Progress()
		require.NoError(t, err)
		require.Zero(t, pos)
		require.True(t, asOf.IsZero())
		return nil
	}))
	require.NoError(t, b.store.View(t.Context(), "org_a", false, func(v app.View) error {
		asOf, err := v.AsOf()
		require.NoError(t, err)
		require.True(t, asOf.IsZero())
		zone, err := v.Zone()
		require.NoError(t, err)
		require.Equal(t, time.UTC, zone)
		return nil
	}))
}

// The last line: whatever a defect above tries, the database refuses.
func TestTheDatabaseRefuses(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.save(meter.Delta{Pos: 1,
		Insert: []meter.Interval{interval("ivl_1", "org_a", "mem_1", 0, 1000), interval("ivl_2", "org_a", "mem_1", 2000, -1), interval("ivl_3", "org_a", "mem_e", 0, 10)},
		Ends:   []meter.End{{Member: "mem_e", Org: "org_a", Instance: "ins_mem_e", At: at(10), Item: "itm_1", Reason: "user"}},
	}, at(3000)))
	insert := func(i meter.Interval) error { return b.save(meter.Delta{Insert: []meter.Interval{i}}, at(0)) }
	sub := interval("ivl_9", "org_a", "mem_9", 0, 1000)
	sub.End = sub.Start.Add(1500 * time.Microsecond)
	nobody := interval("ivl_9", "", "mem_9", 0, 10)
	changed := interval("ivl_2", "org_a", "mem_1", 2000, 2500)
	for name, c := range map[string]struct {
		err        error
		constraint string
	}{
		"an overlap":                  {insert(interval("ivl_9", "org_a", "mem_1", 999, 1500)), "interval_no_overlap"},
		"an overlap with an open one": {insert(interval("ivl_9", "org_a", "mem_1", 9000, 9500)), "interval_no_overlap"},
		"an overlap by another org":   {insert(interval("ivl_9", "org_b", "mem_1", 999, 1500)), "interval_no_overlap"},
		"a second open one":           {insert(interval("ivl_9", "org_a", "mem_1", 9000, -1)), "interval_no_overlap"},
		"an empty one":                {insert(interval("ivl_9", "org_a", "mem_9", 5, 5)), "interval_shape"},
		"after the end":               {insert(interval("ivl_9", "org_a", "mem_e", 20, 30)), "interval_after_end"},
		"less than a millisecond":     {insert(sub), "interval_milliseconds"},
		"without an org":              {insert(nobody), "interval_org"},
		"changing a closed one":       {b.save(meter.Delta{Close: []meter.Interval{interval("ivl_1", "org_a", "mem_1", 0, 900)}}, at(0)), "interval_immutable"},
		"removing a closed one":       {b.save(meter.Delta{Remove: []string{"ivl_1"}}, at(0)), "interval_immutable"},
		"changing the price": {b.tx(func(tx *pg.Tx) error {
			_, err := exec(tx, "x", `UPDATE interval SET per_hour_micro = 1, during = tstzrange(lower(during), $1, '[)'), closed_by = 'itm' WHERE id = 'ivl_2'`, changed.End)
			return err
		}), "interval_immutable"},
		"moving the start": {b.tx(func(tx *pg.Tx) error {
			_, err := exec(tx, "x", `UPDATE interval SET during = tstzrange($1, $2, '[)'), closed_by = 'itm' WHERE id = 'ivl_2'`, at(1500), changed.End)
			return err
		}), "interval_immutable"},
	} {
		require.Error(t, c.err, name)
		require.Equal(t, c.constraint, pg.Constraint(c.err), "%s: %v", name, c.err)
	}
	require.Error(t, b.save(meter.Delta{Close: []meter.Interval{interval("ivl_none", "org_a", "mem_1", 0, 900)}}, at(0)), "closing what is not there")
	require.NoError(t, b.save(meter.Delta{Remove: []string{"ivl_2"}}, at(0)), "an open one that turned out empty may go")
}

func TestOrgsSeeTheirOwn(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.save(meter.Delta{Insert: []meter.Interval{
		interval("ivl_1", "org_a", "mem_1", 0, 1000), interval("ivl_2", "org_b", "mem_2", 0, 1000), interval("ivl_3", "org_a", "mem_3", 500, -1),
	}}, at(5000)))
	require.Len(t, b.charges("org_a", 0, 10_000), 2)
	require.Len(t, b.charges("org_b", 0, 10_000), 1)
	require.Empty(t, b.charges("", 0, 10_000), "nobody's org sees nothing")
	require.Empty(t, b.charges("org_c", 0, 10_000))

	both := []string{"ins_mem_1", "ins_mem_2"}
	see := func(org string, operator bool) (n int) {
		require.NoError(t, b.store.View(t.Context(), org, operator, func(v app.View) error {
			charges, err := v.ChargesOf(both, at(5000), "")
			n = len(charges)
			return err
		}))
		return n
	}
	require.Equal(t, 1, see("org_a", false))
	require.Equal(t, 0, see("org_c", false))
	require.Equal(t, 2, see("", true), "an operator sees all")

	// Not even a statement that forgets the org crosses the wall, and requests write nothing.
	require.NoError(t, b.api.InTx(t.Context(), pg.Scope{Org: "org_b"}, func(tx *pg.Tx) error {
		var n int
		require.NoError(t, tx.Raw(`SELECT count(*) FROM interval`).Scan(&n).Error)
		require.Equal(t, 1, n)
		return nil
	}))
	err := b.api.InTx(t.Context(), pg.Scope{Org: "org_b"}, func(tx *pg.Tx) error { return tx.Exec(`DELETE FROM interval`).Error })
	require.ErrorContains(t, err, "permission denied")
}

func TestChargesOfAWindow(t *testing.T) {
	b := setup(t)
	other := interval("ivl_4", "org_a", "mem_4", 1000, 2000)
	other.Project = "prj_2"
	require.NoError(t, b.save(meter.Delta{Insert: []meter.Interval{
		interval("ivl_3", "org_a", "mem_3", 1500, -1), interval("ivl_1", "org_a", "mem_1", 0, 1000), interval("ivl_2", "org_a", "mem_2", 2000, 3000), other,
	}}, at(5000)))
	got := b.charges("org_a", 1000, 2000)
	require.Len(t, got, 2, "bounds are half-open")
	require.Equal(t, rate.Charge{
		Group: rate.Group{Project: "prj_1", Offering: "h100-80gb.1g.10gb", Instance: "ins_mem_3"}, Currency: "CNY",
		Start: at(1500), End: at(5000), Open: true, PerHour: money.Micro(1_720_000), Cards: 1, GPUeMicro: 122_414,
	}, got[1])
	require.NoError(t, b.store.View(t.Context(), "org_a", false, func(v app.View) error {
		n := 0
		for _, err := range v.Charges(at(0), at(9000), at(5000), "prj_2") {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 1, n)
		for range v.Charges(at(0), at(9000), at(5000), "") {
			break // a report that has enough stops reading
		}
		asOf, err := v.AsOf()
		require.Equal(t, at(5000), asOf)
		return err
	}))
}
