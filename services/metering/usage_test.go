package metering_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/meteringapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
)

func ptr[T any](v T) *T { return &v }

func by(groups ...meteringapi.ListUsageParamsGroupBy) *[]meteringapi.ListUsageParamsGroupBy {
	return &groups
}

func TestUsageOfARental(t *testing.T) {
	w := setup(t)
	w.publish(member("mem_1", 1500, -1, false), member("mem_2", 2000, 2250, true))
	w.clk.Advance(10 * time.Second)
	rows := w.usage(viewer("org_a"), meteringapi.ListUsageParams{GroupBy: by(meteringapi.Instance)}) // which reads the feed to its head itself
	require.Len(t, rows, 2)
	require.Equal(t, "ins_mem_1", *rows[0].Instance)
	require.Nil(t, rows[0].Offering)
	require.Equal(t, "8.5", rows[0].Seconds.String(), "a running meter counts up to now")
	require.Equal(t, "8.5", rows[0].CardSeconds.String())
	require.Equal(t, "1.040519", rows[0].GpueSeconds.String())
	require.Equal(t, "14620000000", rows[0].CostMsMicro)
	require.Equal(t, "0.004061", rows[0].Cost.Amount)
	require.Equal(t, "CNY", rows[0].Cost.Currency)
	require.True(t, rows[0].Provisional)
	require.Equal(t, start.Truncate(24*time.Hour), rows[0].Start)
	require.Equal(t, start.Add(10*time.Second), rows[0].End)
	require.Equal(t, "0.25", rows[1].Seconds.String())

	require.Equal(t, map[string]string{"ins_mem_1": "0.004061 CNY", "ins_mem_2": "0.000119 CNY"}, w.costs(viewer("org_a"), "ins_mem_1", "ins_mem_2", "ins_other"))
	require.Empty(t, w.costs(viewer("org_b"), "ins_mem_1"), "another org's instance is as unknown as none")
	operator := actor.Actor{Kind: actor.User, ID: "usr_op", Operator: true}
	require.Len(t, w.costs(operator, "ins_mem_1", "ins_mem_2"), 2)
	require.Empty(t, w.usage(viewer("org_b"), meteringapi.ListUsageParams{}))

	bound := viewer("org_a")
	bound.Kind, bound.Project = actor.APIKey, "prj_2"
	require.Empty(t, w.usage(bound, meteringapi.ListUsageParams{}), "a key of another project")
	require.Empty(t, w.costs(bound, "ins_mem_1"))

	w.publish(member("mem_1", -1, 9000, true))
	w.clk.Advance(time.Hour)
	rows = w.usage(viewer("org_a"), meteringapi.ListUsageParams{Granularity: ptr(meteringapi.Hour)})
	require.Len(t, rows, 1)
	require.Equal(t, "7.75", rows[0].Seconds.String())
	require.Equal(t, start.Add(time.Hour), rows[0].End)
	require.True(t, rows[0].Provisional, "the hour has just ended")
	w.clk.Advance(time.Hour)
	require.False(t, w.usage(viewer("org_a"), meteringapi.ListUsageParams{Granularity: ptr(meteringapi.Hour)})[0].Provisional)
}

func TestDaysFollowTheOrgsZone(t *testing.T) {
	w := setup(t)
	require.NoError(t, w.tenant.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return outbox.Put(tx, w.clk, "orgs", "org_a", "org_a", map[string]any{"id": "org_a", "name": "A", "currency": "CNY", "time_zone": "Asia/Shanghai", "version": 1})
	}))
	begin := time.Date(2026, 11, 30, 15, 59, 0, 0, time.UTC) // 23:59 in Shanghai
	f := member("mem_1", -1, -1, true)
	f.from, f.until = begin, begin.Add(2*time.Minute)
	w.publish(f)
	w.clk.Set(start.Add(24 * time.Hour))
	rows := w.usage(viewer("org_a"), meteringapi.ListUsageParams{})
	require.Len(t, rows, 2)
	midnight := time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC)
	require.Equal(t, midnight.Add(-24*time.Hour), rows[0].Start)
	require.Equal(t, midnight, rows[0].End)
	require.Equal(t, midnight, rows[1].Start)
	require.Equal(t, "60", rows[0].Seconds.String())
	months := w.usage(viewer("org_a"), meteringapi.ListUsageParams{Granularity: ptr(meteringapi.Month)})
	require.Len(t, months, 2)
	require.Equal(t, midnight, months[1].Start, "December begins in Shanghai")
	require.Len(t, w.usage(viewer("org_a"), meteringapi.ListUsageParams{Granularity: ptr(meteringapi.Hour)}), 2)
}

// However it is asked for and in whatever pages, usage is the sum of the intervals, to the
// last integer.
func TestUsageIsTheSumOfTheIntervals(t *testing.T) {
	w := setup(t)
	rng := rand.New(rand.NewPCG(1, 2))
	now := int64(40 * 3_600_000)
	w.clk.Set(ms(now))
	var facts []fact
	for i := range 120 {
		f := member(fmt.Sprintf("mem_%03d", i), -1, -1, false)
		f.project, f.offering = fmt.Sprintf("prj_%d", i%3), fmt.Sprintf("x.%dg", i%4)
		f.perHour, f.cards, f.gpue = rng.Int64N(20_000_000), 1+rng.Int64N(8), rng.Int64N(8_000_000)
		at := rng.Int64N(20 * 3_600_000)
		for range 1 + rng.IntN(3) {
			f.from, at = ms(at), at+rng.Int64N(6*3_600_000)
			f.until = ms(at)
			if rng.IntN(5) == 0 && f.from != f.until {
				break
			}
			facts = append(facts, f)
			at += rng.Int64N(3_600_000)
		}
		if rng.IntN(3) == 0 {
			f.from, f.until = ms(at), time.Time{}
			facts = append(facts, f)
		}
	}
	w.publish(facts...)
	w.sync()

	var want struct {
		Ms, Cards int64
		Cost      string
	}
	require.NoError(t, w.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return tx.Raw(`SELECT sum(ms) AS ms, sum(ms * cards) AS cards, sum(ms::numeric * per_hour_micro)::text AS cost FROM (
			SELECT *, (extract(epoch FROM coalesce(upper(during), ?) - lower(during)) * 1000)::bigint AS ms FROM interval) i`, ms(now)).Scan(&want).Error
	}))
	require.NotZero(t, want.Ms)
	for _, p := range []meteringapi.ListUsageParams{
		{Granularity: ptr(meteringapi.Month)},
		{Granularity: ptr(meteringapi.Day), GroupBy: by(meteringapi.Project), Limit: ptr(1)},
		{Granularity: ptr(meteringapi.Hour), GroupBy: by(meteringapi.Offering, meteringapi.Project), Limit: ptr(7)},
		{Granularity: ptr(meteringapi.Hour), GroupBy: by(meteringapi.Instance), Limit: ptr(200)},
		{Granularity: ptr(meteringapi.Day), From: ptr(start), To: ptr(ms(now + 5_000_000_000)), GroupBy: by(meteringapi.Instance, meteringapi.Offering, meteringapi.Project)},
	} {
		var seconds, cards money.Micro
		var cost money.MsMicro
		for _, r := range w.usage(viewer("org_a"), p) {
			s, err := money.Parse(r.Seconds.String())
			require.NoError(t, err)
			c, err := money.Parse(r.CardSeconds.String())
			require.NoError(t, err)
			m, err := money.ParseMsMicro(r.CostMsMicro)
			require.NoError(t, err)
			require.Equal(t, m.Micro().String(), r.Cost.Amount)
			seconds, cards, cost = seconds+s, cards+c, cost.Add(m)
		}
		require.Equal(t, want.Ms*1000, int64(seconds))
		require.Equal(t, want.Cards*1000, int64(cards))
		require.Equal(t, want.Cost, cost.String())
	}
}

func TestUsageRefusesWhatMakesNoSense(t *testing.T) {
	w := setup(t)
	me := w.stack.As(viewer("org_a"))
	for query, field := range map[string]string{
		"from=2026-11-30T08:00:00Z&to=2026-11-30T08:00:00Z": "from",
		"from=2026-12-01T08:00:00Z&to=2026-11-30T08:00:00Z": "from",
		"from=2027-01-01T00:00:00Z":                         "from", // after now
		"from=2010-01-01T00:00:00Z&to=2026-01-01T00:00:00Z": "from",
		"from=0001-01-01T00:00:00Z&to=0001-01-02T00:00:00Z": "from",
		"to=9999-12-31T23:59:59Z":                           "from",
		"from=yesterday":                                    "from",
		"granularity=week":                                  "granularity",
		"group_by=color":                                    "group_by[0]",
		"group_by=project,project":                          "group_by",
		"limit=0":                                           "limit",
		"limit=201":                                         "limit",
		"cursor=nonsense":                                   "cursor",
		"cursor=WyJhIiwiYiIsImMiLCJkIiwiZSJd":               "cursor", // ["a","b","c","d","e"]
		"colour=red":                                        "colour",
	} {
		status, doc := w.get(me, "/v1/usage?"+query)
		require.Equal(t, http.StatusUnprocessableEntity, status, "%s: %v", query, doc)
		require.Equal(t, "invalid", doc["code"])
		errs, _ := doc["errors"].([]any)
		require.NotEmpty(t, errs, query)
		first, _ := errs[0].(map[string]any)
		require.Equal(t, field, first["field"], query)
	}
	status, doc := w.get(w.stack.As(actor.Actor{}), "/v1/usage")
	require.Equal(t, http.StatusUnauthorized, status, "%v", doc)
	status, _ = w.get(w.stack.As(actor.Actor{Kind: actor.User, ID: "usr_op", Operator: true}), "/v1/usage")
	require.Equal(t, http.StatusForbidden, status, "an operator is no member")
	status, _ = w.get(me, "/internal/v1/costs?"+url.Values{"instance": make([]string, 201)}.Encode())
	require.Equal(t, http.StatusUnprocessableEntity, status)
	status, _ = w.get(me, "/internal/v1/costs")
	require.Equal(t, http.StatusUnprocessableEntity, status)
}
