package domain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/pkg/kernel/money"
)

func starter(t *testing.T) map[string]money.Micro {
	t.Helper()
	all := map[string]money.Micro{}
	for _, p := range Starter() {
		key := p.Offering + " " + p.Currency
		require.NotContains(t, all, key)
		all[key] = p.PerHour
	}
	return all
}

// Any node that can be simulated can be rented, whole and in every slice that is sold.
func TestStarterPricesEveryBoard(t *testing.T) {
	t.Parallel()
	prices := starter(t)
	for _, b := range mig.Boards() {
		for _, currency := range []string{"CNY", "USD"} {
			card := prices[b.Model+".whole "+currency]
			require.Positive(t, card, "%s has no price in %s", b.Model, currency)
			for _, p := range b.Profiles {
				slice, ok := prices[b.Model+"."+p.Name+" "+currency]
				require.Equal(t, p.Plain(), ok, "%s %s", b.Model, p.Name)
				if ok {
					require.Positive(t, slice)
					require.LessOrEqual(t, slice, card, "a slice costs no more than the card")
					require.Zero(t, slice%cent)
				}
			}
		}
	}
}

func TestStarterPrices(t *testing.T) {
	t.Parallel()
	prices := starter(t)
	for key, want := range map[string]string{
		"h100-80gb.whole CNY":   "14.000000",
		"h100-80gb.whole USD":   "2.000000",
		"a100-40gb.whole CNY":   "3.500000",
		"a100-40gb.whole USD":   "0.500000",
		"h100-80gb.1g.10gb CNY": "1.720000", // 9984 of 81559 MiB
		"h100-80gb.1g.20gb CNY": "3.450000", // 20096 of 81559 MiB
		"h100-80gb.7g.80gb CNY": "14.000000",
		"a100-40gb.1g.5gb CNY":  "0.460000", // 14 of 108 SMs
		"t4-16gb.whole CNY":     "0.900000",
	} {
		require.Equal(t, want, prices[key].String(), key)
	}
	require.NotContains(t, prices, "h100-80gb.1g.10gb+me CNY")
}

func TestEveryListedModelIsABoard(t *testing.T) {
	t.Parallel()
	models := map[string]bool{}
	for _, b := range mig.Boards() {
		models[b.Model] = true
	}
	for m := range whole {
		require.True(t, models[m], "%s is no board's model", m)
	}
}

func TestZone(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Asia/Shanghai", Zone("Asia/Shanghai").String())
	for _, bad := range []string{"", "Local", "Nowhere/Atall", "../etc/passwd"} {
		require.Equal(t, "UTC", Zone(bad).String(), bad)
	}
}
