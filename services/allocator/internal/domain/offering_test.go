package domain

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/mig"
)

func card(t require.TestingT, board, policy string) GPU {
	b, ok := mig.BoardByKey(board)
	require.True(t, ok)
	return GPU{ID: "gpu_" + board, Board: board, Model: b.Model, MemoryMiB: int64(b.MemoryMiB), SMs: b.SMs, Units: b.Units, Policy: policy, State: CardOK, Profiles: b.Profiles}
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	n := Node{ID: "nod_1", State: NodeReady, Region: "r", VCPUsMilli: 96_000, RAMMiB: 1_000_000,
		GPUs: []GPU{card(t, "h100-80gb-sxm5", "auto"), card(t, "h100-80gb-sxm5", "auto")}}
	all := map[string]Offering{}
	for _, o := range Catalogue([]Node{n}) {
		all[o.ID] = o
	}
	require.Len(t, all, 7, "whole and six plain profiles; variants are not sold")
	require.Equal(t, Offering{ID: "h100-80gb.whole", Region: "r", Model: "h100-80gb", Kind: Whole, GPUeMicro: 1_000_000, MemoryMiB: 81559, SMs: 132, CardSMs: 132,
		VCPUsMilli: 48_000, RAMMiB: 500_000}, all["h100-80gb.whole"])
	require.Equal(t, Offering{ID: "h100-80gb.1g.10gb", Region: "r", Model: "h100-80gb", Kind: MIG, Profile: "1g.10gb", GPUeMicro: 122_415, MemoryMiB: 9984,
		SMs: 16, CardSMs: 132, VCPUsMilli: 6_000, RAMMiB: 62_500}, all["h100-80gb.1g.10gb"])

	n.GPUs[0].Policy, n.GPUs[1].Policy = "mig", "mig"
	require.NotContains(t, ids(Catalogue([]Node{n})), "h100-80gb.whole")
	n.GPUs[0].Policy, n.GPUs[1].Policy = "whole", "whole"
	require.Equal(t, []string{"h100-80gb.whole"}, ids(Catalogue([]Node{n})))
	n.State = NodeRetired
	require.Empty(t, Catalogue([]Node{n}))
}

func ids(offerings []Offering) (out []string) {
	for _, o := range offerings {
		out = append(out, o.ID)
	}
	return out
}

func TestVersionsChangeOnlyWithTheTerms(t *testing.T) {
	t.Parallel()
	n := Node{ID: "nod_1", State: NodeReady, VCPUsMilli: 8000, RAMMiB: 8000, GPUs: []GPU{card(t, "t4-16gb", "auto")}}
	current, fresh := Revise(nil, Catalogue([]Node{n}))
	require.Equal(t, current, fresh)
	require.Equal(t, int64(1), fresh[0].Version)
	latest := map[string]Offering{fresh[0].ID: fresh[0]}
	_, fresh = Revise(latest, Catalogue([]Node{n}))
	require.Empty(t, fresh)
	n.VCPUsMilli = 4000
	_, fresh = Revise(latest, Catalogue([]Node{n}))
	require.Equal(t, int64(2), fresh[0].Version)
}

func TestEveryBoardIsWeighedAndASliceIsNeverMoreThanTheCard(t *testing.T) {
	t.Parallel()
	for _, b := range mig.Boards() {
		require.Contains(t, weights, b.Model)
		n := Node{ID: "n", State: NodeReady, GPUs: []GPU{card(t, b.Key, "auto")}}
		for _, o := range Catalogue([]Node{n}) {
			require.LessOrEqual(t, o.GPUeMicro, Weight(b.Model))
			require.Positive(t, o.GPUeMicro)
		}
	}
}

func TestPriceInEffect(t *testing.T) {
	t.Parallel()
	b := PriceBook{}
	b.Put(Price{VersionID: "p1", Offering: "o", Currency: "CNY", PerHour: 1, EffectiveFrom: t0})
	b.Put(Price{VersionID: "p2", Offering: "o", Currency: "CNY", PerHour: 2, EffectiveFrom: at(60)})
	b.Put(Price{VersionID: "p2", Offering: "o", Currency: "CNY", PerHour: 3, EffectiveFrom: at(60)}) // told again
	for s, want := range map[float64]string{-1: "", 0: "p1", 59: "p1", 60: "p2", 600: "p2"} {
		p, ok := b.At("o", "CNY", at(s))
		require.Equal(t, want != "", ok)
		require.Equal(t, want, p.VersionID)
	}
	_, ok := b.At("o", "USD", at(600))
	require.False(t, ok)
}

func TestLimitsNeverLetThrough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := func(label string) int64 { return rapid.Int64Range(0, 1000).Draw(t, label) }
		opt := func(label string) *int64 {
			if rapid.Bool().Draw(t, label+"?") {
				v := n(label)
				return &v
			}
			return nil
		}
		l := Limits{GPUeMicro: opt("lg"), Instances: opt("li"), VCPUsMilli: opt("lv"), RAMMiB: opt("lr")}
		used, want := Usage{GPUeMicro: n("ug"), Instances: n("ui"), VCPUsMilli: n("uv"), RAMMiB: n("ur")}, Usage{GPUeMicro: n("wg"), Instances: n("wi"), VCPUsMilli: n("wv"), RAMMiB: n("wr")}
		fits := func(limit *int64, used, want int64) bool { return limit == nil || want == 0 || used+want <= *limit }
		ok := fits(l.GPUeMicro, used.GPUeMicro, want.GPUeMicro) && fits(l.Instances, used.Instances, want.Instances) &&
			fits(l.VCPUsMilli, used.VCPUsMilli, want.VCPUsMilli) && fits(l.RAMMiB, used.RAMMiB, want.RAMMiB)
		require.Equal(t, ok, l.Excess(used, want) == nil)
		require.Equal(t, used, used.Plus(want).Minus(want))
	})
}

func TestDecimals(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{"1": 1000, "1.5": 1500, "0.001": 1, "1e2": 100_000, "2.50": 2500} {
		v, err := ParseDecimal(json.Number(in), 3)
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	for _, in := range []string{"", "x", "1.0001", "1e999999999", "1e-9", "99999999999999999999999", "0x10p-1000000"} {
		_, err := ParseDecimal(json.Number(in), 3)
		require.Error(t, err, in)
	}
	require.Equal(t, []json.Number{"1.5", "0.122415", "7", "0", "120"}, []json.Number{Decimal(1500, 3), Decimal(122415, 6), Decimal(7, 0), Decimal(0, 6), Decimal(120_000, 3)})
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(0, 1<<50).Draw(t, "v")
		got, err := ParseDecimal(Decimal(v, 6), 6)
		require.NoError(t, err)
		require.Equal(t, v, got)
	})
}

func TestImageReferences(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"ubuntu", "ubuntu:24.04", "nvidia/cuda:12.4.1-base", "ghcr.io/a/b@sha256:0123", "registry.example.com:5000/x", "8.8.8.8/x"} {
		require.NoError(t, checkImage(ok), ok)
	}
	for _, bad := range []string{"", " ", "a b", "-x", "http://x/y", "//x", "x/", "localhost/x", "localhost:5000/x", "127.0.0.1/x", "10.0.0.1:5000/x", "192.168.1.1/x",
		"169.254.169.254/latest", "100.64.0.1/x", "[::1]:5000/x", "metadata.google.internal/x", "printer.local/x", "0x7f.1/x", "127.1/x", "a.b.0x7f/x", "x.LOCALHOST/y", "127.0.0.1./x"} {
		require.Error(t, checkImage(bad), bad)
	}
}

func TestStandings(t *testing.T) {
	t.Parallel()
	require.NoError(t, Org{Standing: "good"}.InTrouble())
	require.ErrorIs(t, Org{Standing: "suspended"}.InTrouble(), fault.OrgSuspended)
	require.ErrorIs(t, Org{Standing: "overdue"}.InTrouble(), fault.OrgOverdue)
}

func TestFactsAreReadAsPublished(t *testing.T) {
	t.Parallel()
	o, err := ParseOrg([]byte(`{"id":"org_1","name":"a","currency":"CNY","time_zone":"UTC","billing_mode":"postpaid","standing":"good","approved":true,"version":3,"at":"2026-01-01T00:00:00.000Z","more":1}`))
	require.NoError(t, err)
	require.Equal(t, Org{ID: "org_1", Name: "a", Currency: "CNY", TimeZone: "UTC", BillingMode: "postpaid", Standing: "good", Approved: true, Version: 3}, o)
	l, err := ParseLimits([]byte(`{"org":"org_1","gpue_micro":null,"instances":5,"queued_instances":null,"vcpus_milli":null,"ram_mib":null,"version":2}`))
	require.NoError(t, err)
	require.Nil(t, l.GPUeMicro)
	require.Equal(t, int64(5), *l.Instances)
	p, err := ParsePrice([]byte(`{"version_id":"prc_1","currency":"CNY","offering":"o","per_hour_micro":14000000,"effective_from":"2026-01-01T08:00:00+08:00"}`))
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), p.EffectiveFrom)
	for _, bad := range []string{``, `{}`, `[]`, `null`, `{"id":1}`} {
		_, err := ParseOrg([]byte(bad))
		require.Error(t, err)
		_, err = ParseLimits([]byte(bad))
		require.Error(t, err)
		_, err = ParsePrice([]byte(bad))
		require.Error(t, err)
		_, err = ParseNode([]byte(bad))
		require.Error(t, err)
	}
}
