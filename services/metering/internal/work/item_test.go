package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/services/metering/internal/domain"
)

func TestFactOf(t *testing.T) {
	t.Parallel()
	f, err := factOf("itm_1", 7, []byte(`{"kind":"member","instance":"ins_1","member":"mem_1","org":"org_a","project":"prj_1","offering":"h100-80gb.whole","offering_version":3,
		"price_version":"prc_1","per_hour_micro":28000000,"currency":"CNY","cards":2,"gpue_micro":2000000,"state":"running","at":"2026-11-30T08:00:01.250Z","billable_from":"2026-11-30T08:00:01.000Z","ended":false,"new_field":1}`))
	require.NoError(t, err)
	require.Equal(t, "itm_1", f.Item)
	require.Equal(t, int64(7), f.Pos)
	require.Equal(t, time.Date(2026, 11, 30, 8, 0, 1, 0, time.UTC), f.From)
	require.True(t, f.Until.IsZero())
	require.Equal(t, "running", f.Reason, "the state where there is no reason")
	require.Equal(t, int64(28_000_000), int64(f.PerHour))
	require.Equal(t, int64(2), f.Cards)

	for _, other := range []string{`{"kind":"heartbeat","at":"2026-11-30T08:00:00.000Z"}`, `{"kind":"of a newer version"}`} {
		f, err := factOf("itm_1", 1, []byte(other))
		require.NoError(t, err)
		require.Nil(t, f)
	}
	const head = `{"kind":"member","instance":"ins_1","member":"mem_1","org":"org_a","at":"2026-11-30T08:00:00Z"`
	_, err = factOf("itm_1", 1, []byte(head+`,"billable_until":"2026-11-30T08:00:00Z","ended":true}`))
	require.NoError(t, err, "what it costs matters where the meter starts")
	for name, bad := range map[string]string{
		"no JSON":        `{`,
		"no member":      `{"kind":"member","instance":"ins_1","org":"org_a","at":"2026-11-30T08:00:00Z"}`,
		"no time":        `{"kind":"member","instance":"ins_1","member":"mem_1","org":"org_a"}`,
		"a broken time":  head + `,"billable_from":"soon"}`,
		"no price":       head + `,"billable_from":"2026-11-30T08:00:00Z","offering":"x","currency":"CNY"}`,
		"no currency":    head + `,"billable_from":"2026-11-30T08:00:00Z","offering":"x","price_version":"prc_1"}`,
		"negative price": head + `,"billable_from":"2026-11-30T08:00:00Z","offering":"x","price_version":"prc_1","currency":"CNY","per_hour_micro":-1}`,
	} {
		_, err := factOf("itm_9", 1, []byte(bad))
		require.ErrorContains(t, err, "itm_9", name)
	}
}

func TestOrgOf(t *testing.T) {
	t.Parallel()
	o, err := orgOf("itm_1", []byte(`{"id":"org_a","name":"A","currency":"CNY","time_zone":"Asia/Shanghai","billing_mode":"postpaid","version":4}`))
	require.NoError(t, err)
	require.Equal(t, domain.Org{ID: "org_a", Currency: "CNY", TimeZone: "Asia/Shanghai", Version: 4}, o)
	for _, bad := range []string{`{`, `{"currency":"CNY"}`, `{"id":"org_a","currency":"yuan"}`} {
		_, err := orgOf("itm_1", []byte(bad))
		require.Error(t, err)
	}
}
