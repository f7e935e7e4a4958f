package place

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhyNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change     func(p *Pool, n *Node)
		want       Want
		reason     Reason
		impossible bool
	}{
		"other model":       {nil, whole("b200-180gb", 1), ReasonModel, true},
		"no such profile":   {nil, slice("h100-80gb", "1g.5gb"), ReasonNoHardware, true},
		"media is not ours": {nil, slice("h100-80gb", "1g.10gb+me"), ReasonNoHardware, true},
		"too many cards":    {nil, whole("h100-80gb", 3), ReasonTooFew, true},
		"invalid":           {nil, whole("h100-80gb", 0), ReasonInvalid, true},
		"never that vCPU":   {nil, Want{Model: "h100-80gb", Kind: KindWhole, Count: 1, Resources: Resources{CPUMilli: 1 << 40}}, ReasonCPU, true},
		"not that RAM now": {func(p *Pool, _ *Node) {
			p.PutMember(MemberRow{ID: "m", Node: "n1", Resources: Resources{MemoryMiB: 1 << 20}})
		},
			whole("h100-80gb", 1), ReasonMemory, false},
		"cordoned":  {func(_ *Pool, n *Node) { n.Schedulable, n.Cordoned = false, true }, whole("h100-80gb", 1), ReasonCordoned, false},
		"not ready": {func(_ *Pool, n *Node) { n.Schedulable = false }, whole("h100-80gb", 1), ReasonNotReady, false},
		"unhealthy": {func(_ *Pool, n *Node) { n.Cards[0].Sellable, n.Cards[1].Sellable = false, false }, whole("h100-80gb", 1), ReasonUnhealthy, false},
		"policy":    {func(_ *Pool, n *Node) { n.Cards[0].Policy, n.Cards[1].Policy = PolicyMIG, PolicyMIG }, whole("h100-80gb", 1), ReasonPolicy, true},
		"the mode it is in": {func(_ *Pool, n *Node) {
			for i := range n.Cards {
				n.Cards[i].ModeFixed, n.Cards[i].MIGMode = true, true
			}
		}, whole("h100-80gb", 1), ReasonReconfigure, false},
		"busy": {func(p *Pool, _ *Node) {
			for _, gpu := range []string{"n1-0", "n1-1"} {
				_ = p.Seat(SeatRow{ID: gpu, Member: "m", Node: "n1", GPU: gpu, Kind: KindWhole})
			}
		}, whole("h100-80gb", 1), ReasonBusy, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := testNode(t, "n1", h100, 2)
			p := testPool(n)
			if c.change != nil {
				c.change(p, &n)
				p.PutNode(n)
			}
			d, e := p.Plan(one(c.want))
			require.False(t, d.OK())
			require.Equal(t, c.reason, e.Blocked[0].Main(), "%+v", e)
			require.Equal(t, c.impossible, e.Impossible)
			require.Zero(t, p.Available(c.want, 9))
		})
	}
}

func TestAfterReconfigure(t *testing.T) {
	t.Parallel()
	p := testPool(testNode(t, "n1", "a100-80gb", 3)) // Ampere: the mode needs a reset, and is off
	require.Equal(t, 3, p.AfterReconfigure(slice("a100-80gb", "1g.10gb")))
	require.Zero(t, p.AfterReconfigure(whole("a100-80gb", 1)))
	require.NoError(t, p.Seat(SeatRow{ID: "s", Member: "m", Node: "n1", GPU: "n1-0", Kind: KindWhole}))
	require.Equal(t, 2, p.AfterReconfigure(slice("a100-80gb", "1g.10gb")))
}

func TestEmptyPoolIsImpossible(t *testing.T) {
	t.Parallel()
	_, e := NewPool().Plan(one(whole("h100-80gb", 1)))
	require.True(t, e.Impossible)
	require.Equal(t, ReasonNoHardware, e.Blocked[0].Main())
}
