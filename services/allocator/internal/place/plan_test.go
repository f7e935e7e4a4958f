package place

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const h100 = "h100-80gb-sxm5"

// kubernetes-sigs/dra-driver-nvidia-gpu#933: enough free memory slices are not enough, the start must be legal.
func TestMIGPlacedAtLegalStartsOnly(t *testing.T) {
	t.Parallel()
	p := testPool(testNode(t, "n1", h100, 1))
	cutAt(t, p, "n1", "n1-0", span1("1g.10gb", 0, 1), span1("1g.10gb", 1, 1), span1("1g.10gb", 5, 1))
	r := &renter{pool: p}

	_, d := r.rent(t, one(slice("h100-80gb", "3g.40gb")))
	require.Empty(t, at(d))
	_, e := p.Plan(one(slice("h100-80gb", "3g.40gb")))
	require.False(t, e.Impossible)
	require.Equal(t, map[Reason]int{ReasonNoStart: 1}, e.Blocked[0].Reasons)

	require.Equal(t, 2, p.Available(slice("h100-80gb", "1g.20gb"), 10))
	_, d = r.rent(t, one(slice("h100-80gb", "2g.20gb")))
	require.Equal(t, "n1-0@2", at(d))
	_, d = r.rent(t, one(slice("h100-80gb", "2g.20gb")))
	require.Empty(t, at(d))
	require.Empty(t, Check(p.Snapshot()))
}

// kubernetes-sigs/dra-driver-nvidia-gpu#933: three 1g must leave room for a 4g, which only ever starts at 0.
func TestSmallSlicesKeepTheLargestProfile(t *testing.T) {
	t.Parallel()
	r := &renter{pool: testPool(testNode(t, "n1", h100, 1))}
	var starts []string
	for range 3 {
		_, d := r.rent(t, one(slice("h100-80gb", "1g.10gb")))
		starts = append(starts, at(d))
	}
	require.ElementsMatch(t, []string{"n1-0@4", "n1-0@5", "n1-0@6"}, starts)
	_, d := r.rent(t, one(slice("h100-80gb", "4g.40gb")))
	require.Equal(t, "n1-0@0", at(d))
}

func TestWhereARequestGoes(t *testing.T) {
	t.Parallel()
	type test struct {
		pool func(t *testing.T) *Pool
		want []Want
		at   string
	}
	for name, c := range map[string]test{
		"a slice goes to a cut card before an empty one": {
			func(t *testing.T) *Pool {
				p := testPool(testNode(t, "n1", h100, 2), testNode(t, "n2", h100, 2))
				cutAt(t, p, "n2", "n2-1", span1("1g.10gb", 6, 1))
				return p
			}, []Want{slice("h100-80gb", "2g.20gb")}, "n2-1@4"},
		"a slice takes what spoils least": { // n1-0 could still take a 4g, n1-1 only a 3g
			func(t *testing.T) *Pool {
				p := testPool(testNode(t, "n1", h100, 2))
				cutAt(t, p, "n1", "n1-0", span1("3g.40gb", 4, 4))
				cutAt(t, p, "n1", "n1-1", span1("4g.40gb", 0, 4))
				return p
			}, []Want{slice("h100-80gb", "2g.20gb")}, "n1-1@4"},
		"of equal losses the fuller card": {
			func(t *testing.T) *Pool {
				p := testPool(testNode(t, "n1", h100, 1), testNode(t, "n2", h100, 4))
				cutAt(t, p, "n1", "n1-0", span1("1g.10gb", 6, 1))
				cutAt(t, p, "n2", "n2-0", span1("4g.40gb", 0, 4), span1("1g.10gb", 6, 1))
				return p
			}, []Want{slice("h100-80gb", "1g.10gb")}, "n2-0@4"},
		"a slice breaks a card that is only ever cut before one that sells whole": {
			func(t *testing.T) *Pool {
				n := testNode(t, "n1", h100, 2)
				n.Cards[1].Policy = PolicyMIG
				return testPool(n)
			}, []Want{slice("h100-80gb", "1g.10gb")}, "n1-1@6"},
		"a whole card goes where the fewest stay free": {
			func(t *testing.T) *Pool {
				return testPool(testNode(t, "n1", h100, 8), testNode(t, "n2", h100, 2), testNode(t, "n3", h100, 4))
			}, []Want{whole("h100-80gb", 1)}, "n2-0"},
		"a whole card that cannot be cut goes first": {
			func(t *testing.T) *Pool {
				n := testNode(t, "n1", h100, 3)
				n.Cards[2].Policy = PolicyWhole
				return testPool(n)
			}, []Want{whole("h100-80gb", 2)}, "n1-2+n1-0"},
		"small members go to the node poor in vCPU": {
			func(t *testing.T) *Pool {
				poor := testNode(t, "n2", h100, 4)
				poor.CPUMilli = 64_000
				return testPool(testNode(t, "n1", h100, 4), poor)
			}, []Want{whole("h100-80gb", 1)}, "n2-0"},
		"large members stay off it, since its other cards would starve": {
			func(t *testing.T) *Pool {
				poor := testNode(t, "n1", h100, 4)
				poor.CPUMilli = 32_000
				return testPool(poor, testNode(t, "n2", h100, 4))
			}, []Want{{Model: "h100-80gb", Kind: KindWhole, Count: 1, Resources: Resources{24_000, 1024}}}, "n2-0"},
		"the first offering that fits is taken": {
			func(t *testing.T) *Pool { return testPool(testNode(t, "n1", h100, 1), testNode(t, "n2", "t4-16gb", 1)) },
			[]Want{whole("h100-80gb", 2), whole("t4-16gb", 1), whole("h100-80gb", 1)}, "n2-0"},
		"equal nodes: the lower id": {
			func(t *testing.T) *Pool { return testPool(testNode(t, "n2", h100, 2), testNode(t, "n1", h100, 2)) },
			[]Want{whole("h100-80gb", 2)}, "n1-0+n1-1"},
		"twelve-unit cards": {
			func(t *testing.T) *Pool {
				p := testPool(testNode(t, "n1", "rtx-pro-6000-blackwell-96gb", 1))
				cutAt(t, p, "n1", "n1-0", span1("1g.24gb", 3, 3))
				return p
			}, []Want{slice("rtx-pro-6000-96gb", "1g.24gb")}, "n1-0@0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, e := c.pool(t).Plan(one(c.want...))
			require.Equal(t, c.at, at(d), "%+v", e)
		})
	}
}

func TestWholeAndCutOfOneCard(t *testing.T) {
	t.Parallel()
	fixed := func(policy Policy, migMode, fixed bool) (bool, bool) {
		n := testNode(t, "n1", h100, 1)
		n.Cards[0].Policy, n.Cards[0].MIGMode, n.Cards[0].ModeFixed = policy, migMode, fixed
		p := testPool(n)
		return p.Available(whole("h100-80gb", 1), 9) > 0, p.Available(slice("h100-80gb", "1g.10gb"), 9) > 0
	}
	for _, c := range []struct {
		policy       Policy
		mig, fixed   bool
		whole, slice bool
	}{
		{PolicyAuto, false, false, true, true},
		{PolicyAuto, true, false, true, true},
		{PolicyAuto, false, true, true, false},
		{PolicyAuto, true, true, false, true},
		{PolicyWhole, false, true, true, false},
		{PolicyWhole, true, true, false, false},
		{PolicyMIG, false, false, false, true},
		{PolicyMIG, false, true, false, false},
	} {
		w, s := fixed(c.policy, c.mig, c.fixed)
		require.Equal(t, [2]bool{c.whole, c.slice}, [2]bool{w, s}, "%+v", c)
	}

	r := &renter{pool: testPool(testNode(t, "n1", h100, 1))}
	ids, d := r.rent(t, one(slice("h100-80gb", "1g.10gb")))
	require.True(t, d.OK())
	require.Zero(t, r.pool.Available(whole("h100-80gb", 1), 1))
	r.pool.Undo(ids)
	_, d = r.rent(t, one(whole("h100-80gb", 1)))
	require.True(t, d.OK())
	require.Zero(t, r.pool.Available(slice("h100-80gb", "1g.10gb"), 1))
}

func TestGangTakesDistinctNodesOrNothing(t *testing.T) {
	t.Parallel()
	p := testPool(testNode(t, "n1", h100, 8), testNode(t, "n2", h100, 2), testNode(t, "n3", h100, 4))
	d, _ := p.Plan(Request{Nodes: 2, Offerings: []Want{whole("h100-80gb", 2)}})
	require.Len(t, d.Members, 2)
	require.Equal(t, "n2", d.Members[0].Node)
	require.Equal(t, "n3", d.Members[1].Node)

	d, e := p.Plan(Request{Nodes: 3, Offerings: []Want{whole("h100-80gb", 4)}})
	require.False(t, d.OK())
	require.True(t, e.Impossible)
	require.Equal(t, 2, e.Blocked[0].Nodes)
	require.Equal(t, map[Reason]int{ReasonTooFew: 2, ReasonGang: 12}, e.Blocked[0].Reasons)
}

func TestAffinity(t *testing.T) {
	t.Parallel()
	p := testPool(testNode(t, "n1", h100, 1), testNode(t, "n2", h100, 2), testNode(t, "n3", h100, 1))
	r := one(whole("h100-80gb", 1))
	r.Only = []string{"n2", "n9", "n2"}
	d, _ := p.Plan(r)
	require.Equal(t, "n2-0", at(d))
	r.Avoid = []string{"n2"}
	d, e := p.Plan(r)
	require.False(t, d.OK())
	require.True(t, e.Impossible)
	require.Equal(t, map[Reason]int{ReasonAffinity: 4}, e.Blocked[0].Reasons)
}

func TestCPUOnly(t *testing.T) {
	t.Parallel()
	p := testPool(testNode(t, "n1", h100, 1), testNode(t, "n2", h100, 0))
	w := Want{Offering: "cpu.standard", Kind: KindCPU, Resources: Resources{60_000, 1024}}
	r := &renter{pool: p}
	for _, want := range []string{"n2", "n2", "n1", "n1"} {
		require.Positive(t, p.Available(w, 9))
		_, d := r.rent(t, one(w))
		require.Equal(t, want, d.Members[0].Node)
		require.Empty(t, d.Members[0].Seats)
	}
	_, e := p.Plan(one(w))
	require.Equal(t, map[Reason]int{ReasonCPU: 2}, e.Blocked[0].Reasons)
}
