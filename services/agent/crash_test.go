package agent_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weirhq/weir/pkg/api/agentapi"
	"github.com/weirhq/weir/services/agent/internal/controltest"
	"github.com/weirhq/weir/services/agent/shim"
	"github.com/weirhq/weir/services/agent/simgpu"
	"github.com/weirhq/weir/services/agent/simnode"
)

// TestNodeKilledForRealAtEveryStep: an agent process kills itself with -9 at every write and act of a member's life, in the
// middle of preparing it and of undoing it. The next process converges: card = journal = reported. (internal/carve has the
// same for every kind of member, without processes.)
func TestNodeKilledForRealAtEveryStep(t *testing.T) {
	t.Parallel()
	const steps = 27 // of one MIG member: counted by internal/carve's TestKilledAtEveryStep
	slots := make(chan struct{}, 4)
	for step := 1; step <= steps; step++ {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			p := plane(t)
			p.Keep()
			dir := t.TempDir()
			doomed := child(t, p, dir, "a100-40gb:1", "null", step)
			gpu := cards(t, p)[0]
			want := member("m1", gpu, "1g.5gb", 0, 1)
			p.Want(want)
			ended := make(chan error, 1)
			go func() { ended <- doomed.Wait() }()
			p.Eventually(func() bool { return len(ended) > 0 || p.Observed("m1").State == agentapi.Running }, func() string { return "neither runs nor died" })
			p.Want(stopped(want, agentapi.User))
			require.ErrorContains(t, <-ended, "killed")

			survivor := start(t, p, dir, "a100-40gb:1", "null")
			p.Eventually(func() bool { return p.Observed("m1").Released }, func() string { return fmt.Sprintf("%+v", p.Observed("m1")) })
			converged(t, p, dir)
			require.NoError(t, survivor.stop())
		})
	}
}

// converged proves that nothing is on the card, and that the status says so.
func converged(t *testing.T, p *controltest.Plane, dir string) {
	t.Helper()
	cards, err := simgpu.Open(simgpu.Config{Dir: filepath.Join(dir, "cards")})
	require.NoError(t, err)
	list, err := cards.Cards(t.Context())
	require.NoError(t, err)
	for _, c := range list {
		left, err := cards.Instances(t.Context(), c.UUID)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	p.Eventually(func() bool { s := p.Statuses(); return len(s[len(s)-1].Cards[0].Layout) == 0 }, func() string { return "the status shows a slice" })
}

// A kill -9 of the node's process keeps its boot, its slices and its commands: the next one adopts the same process.
func TestKilledNodeAdoptsItsMembers(t *testing.T) {
	t.Parallel()
	p := plane(t)
	dir := t.TempDir()
	victim := child(t, p, dir, "h100-80gb-sxm5:1", "process", 0)
	gpu := cards(t, p)[0]
	want := member("m1", gpu, "2g.20gb", 2, 2, "sh", "-c", "echo before; while [ ! -e /tmp/x ]; do sleep 0.05; done")
	p.Want(want)
	before := p.Await("m1", agentapi.Running)
	boot := p.Statuses()[0].BootID
	require.NoError(t, unix.Kill(victim.Process.Pid, unix.SIGKILL))
	_ = victim.Wait()
	require.True(t, alive(*before.Pid))

	reports := len(p.Reports())
	start(t, p, dir, "h100-80gb-sxm5:1", "process")
	p.Eventually(func() bool { return len(p.Reports()) > reports }, func() string { return "no report" })
	first := p.Reports()[reports]
	require.True(t, first.Full)
	require.Equal(t, boot, first.BootID)
	require.Greater(t, first.Seq, p.Reports()[reports-1].Seq, "sequences grow over restarts")
	after := first.Members[0]
	require.Equal(t, agentapi.Running, after.State)
	require.Equal(t, *before.Pid, *after.Pid)
	require.Equal(t, before.Seats, after.Seats)
	require.Greater(t, *after.RunningAgeMs, *before.RunningAgeMs)
	state, ok, err := shim.ReadState(filepath.Join(dir, "members", "members", "m1"))
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, *after.Pid, int64(state.Init.PID))
	p.Want(stopped(want, agentapi.User))
	p.Eventually(func() bool { return p.Observed("m1").Released }, func() string { return "not released" })
	require.False(t, alive(*after.Pid))
}

// Hundreds of members at once on all slices of a node: one owner per slice, every one runs (kubernetes/kubernetes#136269).
func TestAllSlicesAtOnce(t *testing.T) {
	t.Parallel()
	p := plane(t)
	start(t, p, t.TempDir(), "h100-80gb-sxm5:8", "null")
	gpus := cards(t, p)
	var wants []agentapi.DesiredMember
	for i := range 200 {
		wants = append(wants, member(fmt.Sprintf("m%03d", i), gpus[i%56/7], "1g.10gb", i%7, 1))
	}
	p.Want(wants...)
	p.Eventually(func() bool {
		for i := range wants {
			if s := p.Observed(wants[i].Member).State; s != agentapi.Running && s != agentapi.Failed {
				return false
			}
		}
		return true
	}, func() string { return "not all decided" })
	owners := map[string]string{}
	for i := range wants {
		o := p.Observed(wants[i].Member)
		if o.State == agentapi.Failed {
			require.Equal(t, "span_occupied", o.Reason)
			continue
		}
		device := *o.Seats[0].DeviceUUID
		require.Empty(t, owners[device])
		owners[device] = o.Member
	}
	require.Len(t, owners, 56)
}

func TestFaultsAreCheckedAndHealByThemselves(t *testing.T) {
	t.Parallel()
	p := plane(t)
	n := start(t, p, t.TempDir(), "a100-40gb:1", "null")
	cards(t, p)
	for _, f := range []simnode.Fault{
		{Kind: "earthquake"}, {Kind: "cut", Direction: "up"}, {Kind: "lose_gpu", GPU: ptr(9)}, {Kind: "lose_gpu", GPU: ptr(-1)},
		{Kind: "slow"}, {Kind: "xid"}, {Kind: "cut", Seconds: -1}, {Kind: "ecc"},
	} {
		_, err := n.Inject(t.Context(), f)
		require.ErrorContains(t, err, "invalid", "%+v", f)
	}
	done, err := n.Inject(t.Context(), simnode.Fault{Kind: "lose_gpu", GPU: ptr(0), Seconds: 1})
	require.NoError(t, err)
	require.Equal(t, "lose_gpu", done.Kind)
	require.NotEmpty(t, done.ID)
	lost := func() bool {
		s := p.Statuses()
		return s[len(s)-1].Cards[0].State == agentapi.Lost
	}
	p.Eventually(lost, func() string { return "the card is not shown as lost" })
	p.Eventually(func() bool { return !lost() }, func() string { return "the card did not come back" })
}
