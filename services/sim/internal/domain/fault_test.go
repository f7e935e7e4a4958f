package domain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

func TestFaultsSayWhatTheyNeed(t *testing.T) {
	t.Parallel()
	n := 1
	for _, f := range []Fault{
		{Kind: Xid, Xid: &n}, {Kind: Xid, Xid: &n, GPU: &n, For: time.Second}, {Kind: LoseGPU, GPU: &n}, {Kind: Slow, For: time.Second},
		{Kind: FailNext}, {Kind: Wedge}, {Kind: HangContainer}, {Kind: Reboot}, {Kind: Cut, Direction: In, For: time.Minute}, {Kind: Heal}, {Kind: ForeignMIG, GPU: &n},
	} {
		require.NoError(t, f.Validate(), f.Kind)
	}
	for _, f := range []Fault{
		{Kind: ECC}, {Kind: "made_up"}, {Kind: Xid}, {Kind: Slow}, {Kind: Reboot, For: time.Second}, {Kind: Heal, GPU: &n}, {Kind: Wedge, GPU: &n},
		{Kind: LoseGPU, Xid: &n}, {Kind: Wedge, Direction: Both}, {Kind: FailNext, For: time.Second},
	} {
		require.ErrorIs(t, f.Validate(), fault.Invalid, f.Kind)
	}
}
