package app_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// race runs fn n times at once and sorts the outcomes by code.
func race(t *testing.T, n int, fn func(n int) error) map[fault.Code]int {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	out := map[fault.Code]int{}
	for i := range n {
		wg.Go(func() {
			err := fn(i)
			mu.Lock()
			defer mu.Unlock()
			var f *fault.Error
			switch {
			case err == nil:
				out[""]++
			case errors.As(err, &f):
				out[f.Code]++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return out
}

func TestLimitsAreExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := b.node("h100-80gb-sxm5", 8)
	two, gpue := int64(2), int64(3*122_415+1)
	small, large := b.org(func(l *domain.Limits) { l.Instances = &two }), b.org(func(l *domain.Limits) { l.GPUeMicro = &gpue })
	var mu sync.Mutex
	var mine []*domain.Instance
	rent := func(org string) func(int) error {
		return func(int) error {
			i, err := b.tryRent(org, slice)
			if err == nil && org == small {
				mu.Lock()
				defer mu.Unlock()
				mine = append(mine, i)
			}
			return err
		}
	}
	require.Equal(t, map[fault.Code]int{"": 2, fault.QuotaExceeded: 28}, race(t, 30, rent(small)))
	require.Equal(t, map[fault.Code]int{"": 3, fault.QuotaExceeded: 27}, race(t, 30, rent(large)))

	// What ends gives its part back at once, though its seat is not free yet.
	b.halt(mine[0])
	_, err := b.tryRent(small, slice)
	require.ErrorIs(t, err, fault.QuotaExceeded, "stopping still counts")
	b.report(n, n.BootID, saw(mine[0], domain.SeenStopped))
	b.rent(small, slice)

	// A limit below the use blocks new work and stops nothing.
	one := int64(1)
	b.setLimits(domain.Limits{Org: small, Instances: &one})
	_, err = b.tryRent(small, slice)
	require.ErrorIs(t, err, fault.QuotaExceeded)
	u, err := b.app.LimitUsage(t.Context(), small)
	require.NoError(t, err)
	require.Equal(t, int64(2), u.Instances)
}

func TestRefusalsSayWhy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node("h100-80gb-sxm5", 2)
	b.node("a100-40gb", 1)
	gpue := int64(1_500_000)
	org := b.org(func(l *domain.Limits) { l.GPUeMicro = &gpue })

	_, err := b.tryRent(org, "h100-80gb.whole", cards(2))
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	require.Equal(t, fault.QuotaExceeded, f.Code)
	require.Equal(t, []string{"gpue", "org", "1.5", "0", "2"}, extra(f, "resource", "scope", "limit", "used", "requested"))
	alternatives := f.Extra["alternatives"].([]domain.Alternative)
	require.Equal(t, "h100-80gb.whole", alternatives[0].Offering)
	require.Equal(t, 1, alternatives[0].Count, "one card would fit the limit")
	require.Equal(t, 2, alternatives[0].Available)

	free := b.org()
	b.rent(free, "h100-80gb.whole", cards(2))
	_, err = b.tryRent(free, "h100-80gb.whole")
	require.ErrorAs(t, err, &f)
	require.Equal(t, fault.NoCapacity, f.Code)
	require.Equal(t, []string{"h100-80gb.whole", "2", "2", "1", "false"}, extra(f, "resource", "limit", "used", "requested", "impossible"))
	require.Contains(t, f.Public, "every card is taken")
	for _, a := range f.Extra["alternatives"].([]domain.Alternative) {
		require.Contains(t, a.Offering, "a100-40gb")
	}

	_, err = b.tryRent(free, "h100-80gb.whole", cards(8))
	require.ErrorAs(t, err, &f)
	require.Equal(t, fault.NoCapacity, f.Code)
	require.Contains(t, f.Public, "No card could ever hold this")
	huge := int64(1_000_000_000)
	_, err = b.tryRent(free, slice, func(in *domain.CreateInput) { in.RAMMiB = &huge })
	require.ErrorAs(t, err, &f)
	require.Equal(t, true, f.Extra["impossible"])

	_, err = b.tryRent(free, "h100-80gb.9g.99gb")
	require.ErrorAs(t, err, &f)
	require.Equal(t, []fault.Field{{Field: "offering", Message: "is not on offer here: the list of offerings names what is"}}, f.Fields)
	_, err = b.tryRent(free, slice, cards(2))
	require.ErrorAs(t, err, &f)
	require.Equal(t, "count", f.Fields[0].Field)
}

func extra(f *fault.Error, keys ...string) (out []string) {
	for _, k := range keys {
		out = append(out, fmt.Sprint(f.Extra[k]))
	}
	return out
}

func TestPriceAndStanding(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node("h100-80gb-sxm5", 2)
	org := b.org()
	bound := func(s string) func(*domain.CreateInput) {
		m, err := money.Parse(s)
		require.NoError(t, err)
		return func(in *domain.CreateInput) { in.MaxPerHour = &m }
	}
	_, err := b.tryRent(org, "h100-80gb.whole", cards(2), bound("27.999999"))
	require.ErrorIs(t, err, fault.PriceChanged, "the bound is for the whole instance")
	i := b.rent(org, "h100-80gb.whole", cards(2), bound("28"))
	require.Equal(t, "28.000000", i.PerHour.String())
	require.Equal(t, "prc_h100-80gb.whole", i.PriceVersion)

	_, err = b.tryRent(org, slice, bound("28"), func(in *domain.CreateInput) { in.MaxCurrency = "USD" })
	require.ErrorIs(t, err, fault.Invalid)

	for standing, want := range map[string]fault.Code{"suspended": fault.OrgSuspended, "overdue": fault.OrgOverdue} {
		b.setOrg(domain.Org{ID: org, Currency: "CNY", Standing: standing})
		_, err = b.tryRent(org, slice)
		require.ErrorIs(t, err, want)
	}
	b.setOrg(domain.Org{ID: org, Currency: "EUR", Standing: "good"})
	_, err = b.tryRent(org, slice)
	require.ErrorIs(t, err, fault.Invalid, "no price in that currency")
}

func TestAnyOfSeveralOfferings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node("h100-80gb-sxm5", 1)
	b.node("a100-40gb", 1)
	org := b.org()
	any := func(in *domain.CreateInput) {
		in.Offerings, in.List = []string{"h100-80gb.whole", "a100-40gb.whole"}, true
	}
	first, second := b.rent(org, "", any), b.rent(org, "", any)
	require.Equal(t, "h100-80gb.whole", first.Offering, "the earlier the better")
	require.Equal(t, "a100-40gb.whole", second.Offering)
	require.Equal(t, "7.000000", second.PerHour.String(), "the chosen one is priced")
}
