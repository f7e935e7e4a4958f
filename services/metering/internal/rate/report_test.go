package rate

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the machine may carry no zones

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/pkg/kernel/money"
)

var zones = []string{"UTC", "Asia/Shanghai", "America/New_York", "Asia/Kolkata", "America/Sao_Paulo", "Pacific/Apia", "Australia/Lord_Howe"}

func zone(t require.TestingT, name string) *time.Location {
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

func each(charges []Charge) iter.Seq2[Charge, error] {
	sorted := slices.Clone(charges)
	slices.SortStableFunc(sorted, func(a, b Charge) int { return a.Start.Compare(b.Start) })
	return func(yield func(Charge, error) bool) {
		for _, c := range sorted {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// drawInstant is around changes of the clocks: New York and São Paulo in November 2018,
// Apia's lost day in December 2011.
func drawInstant(t *rapid.T, what string) time.Time {
	base := rapid.SampledFrom([]time.Time{time.Date(2018, 11, 3, 0, 0, 0, 0, time.UTC), time.Date(2011, 12, 29, 0, 0, 0, 0, time.UTC)}).Draw(t, what+" around")
	return base.Add(time.Duration(rapid.Int64Range(0, 4*24*3_600_000).Draw(t, what)) * time.Millisecond)
}

func drawCharges(t *rapid.T) []Charge {
	var all []Charge
	for range rapid.IntRange(0, 12).Draw(t, "charges") {
		start := drawInstant(t, "start")
		all = append(all, Charge{
			Group: Group{
				Project:  rapid.SampledFrom([]string{"", "prj_a", "prj_b"}).Draw(t, "project"),
				Offering: rapid.SampledFrom([]string{"x.whole", "y.1g"}).Draw(t, "offering"),
				Instance: fmt.Sprintf("ins_%d", rapid.IntRange(0, 3).Draw(t, "instance")),
			},
			Currency:  rapid.SampledFrom([]string{"CNY", "USD"}).Draw(t, "currency"),
			Start:     start,
			End:       start.Add(time.Duration(rapid.Int64Range(1, 3*24*3_600_000).Draw(t, "length")) * time.Millisecond),
			Open:      rapid.Bool().Draw(t, "open"),
			PerHour:   money.Micro(rapid.Int64Range(0, 1<<40).Draw(t, "price")),
			Cards:     rapid.Int64Range(1, 8).Draw(t, "cards"),
			GPUeMicro: rapid.Int64Range(0, 8_000_000).Draw(t, "gpue"),
		})
	}
	return all
}

func drawQuery(t *rapid.T) Query {
	q := Query{
		From: drawInstant(t, "from"), To: drawInstant(t, "to"), Limit: 1 << 20,
		Step: rapid.SampledFrom([]Step{Hour, Day, Month}).Draw(t, "step"),
		Zone: zone(t, rapid.SampledFrom(zones).Draw(t, "zone")),
		By:   Grouping{rapid.Bool().Draw(t, "by project"), rapid.Bool().Draw(t, "by offering"), rapid.Bool().Draw(t, "by instance")},
	}
	if q.To.Before(q.From) {
		q.From, q.To = q.To, q.From
	}
	return q
}

func whole(charges []Charge, from, to time.Time, of func(Charge) bool) (sum Amount) {
	for _, c := range charges {
		if of(c) {
			sum = sum.Add(c.Between(from, to))
		}
	}
	return sum
}

func sum(rows []Row, of func(Row) bool) (total Amount) {
	for _, r := range rows {
		if of(r) {
			total = total.Add(r.Amount)
		}
	}
	return total
}

func requireEqual(t require.TestingT, want, got Amount) {
	require.Equal(t, want.Ms, got.Ms)
	require.Equal(t, want.CardMs, got.CardMs)
	require.Zero(t, want.GPUe.Cmp(got.GPUe))
	require.Zero(t, want.Cost.Cmp(got.Cost), "%s is not %s", got.Cost, want.Cost)
}

// Rows add up to the charges, exactly, whatever the periods, the zone and the grouping.
func TestRowsAddUpToTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		charges, q := drawCharges(t), drawQuery(t)
		rows, more, err := Rows(q, each(charges))
		require.NoError(t, err)
		require.False(t, more)
		for _, currency := range []string{"CNY", "USD"} {
			requireEqual(t, whole(charges, q.From, q.To, func(c Charge) bool { return c.Currency == currency }),
				sum(rows, func(r Row) bool { return r.Currency == currency }))
			if q.By.Instance {
				requireEqual(t, whole(charges, q.From, q.To, func(c Charge) bool { return c.Currency == currency && c.Instance == "ins_1" }),
					sum(rows, func(r Row) bool { return r.Currency == currency && r.Instance == "ins_1" }))
			}
		}
		for i, r := range rows {
			require.True(t, r.Start.Before(r.End))
			require.False(t, r.Start.Before(q.From))
			require.False(t, r.End.After(q.To))
			require.Positive(t, r.Ms)
			if i > 0 {
				require.Negative(t, rows[i-1].Compare(r.Key), "rows are in order and none comes twice")
			}
		}
	})
}

// A report cut anywhere is the same report.
func TestAReportMayBeCutAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		charges, q := drawCharges(t), drawQuery(t)
		cut := q.From.Add(time.Duration(rapid.Int64Range(0, max(0, q.To.Sub(q.From).Milliseconds())).Draw(t, "cut")) * time.Millisecond)
		left, right := q, q
		left.To, right.From = cut, cut
		a, _, err := Rows(left, each(charges))
		require.NoError(t, err)
		b, _, err := Rows(right, each(charges))
		require.NoError(t, err)
		all := func(Row) bool { return true }
		requireEqual(t, whole(charges, q.From, q.To, func(Charge) bool { return true }), sum(a, all).Add(sum(b, all)))
	})
}

// Pages put together are the whole report.
func TestPages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		charges, q := drawCharges(t), drawQuery(t)
		want, _, err := Rows(q, each(charges))
		require.NoError(t, err)
		q.Limit = rapid.IntRange(1, 5).Draw(t, "limit")
		var got []Row
		for {
			page, more, err := Rows(q, each(fromResume(q, charges)))
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), q.Limit)
			got = append(got, page...)
			if !more {
				break
			}
			q.After = &page[len(page)-1].Key
		}
		require.Len(t, got, len(want))
		for i := range want {
			require.Zero(t, want[i].Compare(got[i].Key))
			require.Equal(t, want[i].Open, got[i].Open)
			requireEqual(t, want[i].Amount, got[i].Amount)
		}
	})
}

// fromResume is what a store reads for a page.
func fromResume(q Query, charges []Charge) []Charge {
	return slices.DeleteFunc(slices.Clone(charges), func(c Charge) bool { return !c.End.After(q.Resume()) || !c.Start.Before(q.To) })
}

// Periods tile time: each instant lies in exactly one, in every zone.
func TestPeriodsTile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		z := zone(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		step := rapid.SampledFrom([]Step{Hour, Day, Month}).Draw(t, "step")
		at := drawInstant(t, "at")
		start := step.Floor(at, z)
		end := step.Next(start, z)
		require.False(t, at.Before(start))
		require.True(t, at.Before(end))
		require.True(t, step.Floor(start, z).Equal(start))
		require.True(t, step.Floor(end.Add(-time.Millisecond), z).Equal(start))
		require.True(t, step.Floor(end, z).Equal(end))
	})
}

func TestPeriodsFollowTheZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 17, 30, 0, 0, time.UTC) // 1 December in Shanghai
	require.Equal(t, "2026-11-30T16:00:00Z", Month.Floor(at, zone(t, "Asia/Shanghai")).UTC().Format(time.RFC3339))
	require.Equal(t, "2026-11-01T00:00:00Z", Month.Floor(at, time.UTC).UTC().Format(time.RFC3339))
	require.Equal(t, "2026-11-30T16:00:00Z", Day.Floor(at, zone(t, "Asia/Shanghai")).UTC().Format(time.RFC3339))
	require.Equal(t, "2026-11-30T17:00:00Z", Hour.Floor(at, zone(t, "Asia/Kolkata")).UTC().Format(time.RFC3339))
	// The day on which New York's clocks go back has 25 hours.
	long := Day.Floor(time.Date(2018, 11, 4, 12, 0, 0, 0, time.UTC), zone(t, "America/New_York"))
	require.Equal(t, 25*time.Hour, Day.Next(long, zone(t, "America/New_York")).Sub(long))
}

func TestOpenOnlyInItsLastPeriod(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)
	c := Charge{Currency: "CNY", Start: at, End: at.Add(time.Hour), Open: true, PerHour: 14_000_000, Cards: 2, GPUeMicro: 500_000}
	rows, _, err := Rows(Query{From: at.Add(-time.Hour), To: at.Add(2 * time.Hour), Step: Hour, Zone: time.UTC, Limit: 10}, each([]Charge{c}))
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.False(t, rows[0].Open)
	require.True(t, rows[1].Open)
	require.Equal(t, int64(1_800_000), rows[0].Ms)
	require.Equal(t, int64(3_600_000), rows[0].CardMs)
	require.Equal(t, "7.000000000000", rows[0].Cost.Exact())
	require.Equal(t, "900", GPUeSeconds(rows[0].GPUe))
}

func TestAnErrorOfTheStoreEndsTheReport(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, _, err := Rows(Query{From: time.Unix(0, 0), To: time.Unix(10, 0), Step: Hour, Zone: time.UTC, Limit: 10}, func(yield func(Charge, error) bool) { yield(Charge{}, broken) })
	require.ErrorIs(t, err, broken)
}

func TestDecimals(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0", Seconds(0))
	require.Equal(t, "0.001", Seconds(1))
	require.Equal(t, "3600.12", Seconds(3_600_120))
	require.Equal(t, "100", Seconds(100_000))
	require.Equal(t, "0", GPUeSeconds(money.MsMicro{}))
	require.Equal(t, "0.1", GPUeSeconds(money.Times(100, 1_000_000)))
	require.Equal(t, "0.000001", GPUeSeconds(money.Times(1, 501)))
	require.Equal(t, "0", GPUeSeconds(money.Times(1, 500)), "half to even")
	require.Equal(t, "0.000002", GPUeSeconds(money.Times(1, 1500)))
	require.Equal(t, "9223372036854.775807", GPUeSeconds(money.Times(1000, 9_223_372_036_854_775_807)))
	require.Equal(t, "92233720368547758.07", GPUeSeconds(money.Times(10_000_000, 9_223_372_036_854_775_807)))
}
