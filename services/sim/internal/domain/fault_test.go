package domain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

func TestFaultsSayWhatTheyNeed(t *testing.T) {
	t.Parallel()
	n := 1
	for _, f := range []Fault{
		{Kind: Xid, Xid: &n}, {Kind: Xid, Xid: &n, GPU: &n, Seconds: 1}, {Kind: LoseGPU, GPU: &n}, {Kind: Slow, Seconds: 1},
		{Kind: FailNext}, {Kind: Wedge}, {Kind: HangContainer}, {Kind: Reboot}, {Kind: Cut, Direction: In, Seconds: 60}, {Kind: Heal}, {Kind: ForeignMIG, GPU: &n},
	} {
		require.NoError(t, f.Validate(), f.Kind)
	}
	for _, f := range []Fault{
		{Kind: ECC}, {Kind: "made_up"}, {Kind: Xid}, {Kind: Slow}, {Kind: Reboot, Seconds: 1}, {Kind: Heal, GPU: &n}, {Kind: Wedge, GPU: &n},
		{Kind: LoseGPU, Xid: &n}, {Kind: Wedge, Direction: Both}, {Kind: FailNext, Seconds: 1},
	} {
		require.ErrorIs(t, f.Validate(), fault.Invalid, f.Kind)
	}
}
