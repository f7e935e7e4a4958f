package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/agentapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent"
	"github.com/weirhq/weir/services/agent/internal/controltest"
	"github.com/weirhq/weir/services/agent/simgpu"
	"github.com/weirhq/weir/services/agent/simnode"
)

func TestARunInASliceFromDesiredToForgotten(t *testing.T) {
	t.Parallel()
	p := plane(t)
	start(t, p, t.TempDir(), "h100-80gb-sxm5:2", "process")
	gpus := cards(t, p)
	m := member("m1", gpus[1], "1g.10gb", 3, 1, "sh", "-c", "echo hello $WEIR_SLICE_MEMORY_MIB; sleep 0.3; exit 3")
	p.Want(m)
	running := p.Await("m1", agentapi.Running)
	require.NotNil(t, running.RunningAgeMs)
	require.NotZero(t, *running.Pid)
	s := running.Seats[0]
	require.Equal(t, gpus[1], s.GPUUUID)
	require.Equal(t, 3, *s.Start)
	require.Equal(t, 10, *s.GI)
	require.Equal(t, 16, *s.Sms)
	require.True(t, strings.HasPrefix(*s.DeviceUUID, "MIG-"))
	p.Eventually(func() bool { code, _, _ := p.Logs(t.Context(), "m1", "tail=0"); return code == 200 }, func() string { return "no tunnel" })
	code, log, err := p.Logs(t.Context(), "m1", "follow=1")
	require.NoError(t, err)
	require.Equal(t, 200, code)
	require.Equal(t, "hello 9984\n", log, "it ends with the member")

	p.Await("m1", agentapi.Failed)
	p.Eventually(func() bool { return p.Observed("m1").Released }, func() string { return "not released" })
	end := p.Observed("m1")
	require.Equal(t, "exit_nonzero", end.Reason)
	require.Equal(t, 3, *end.ExitCode)
	require.Equal(t, agentapi.ObservedCleaningGIDestroyed, end.Cleaning)
	require.GreaterOrEqual(t, *end.RunningAgeMs-*end.EndedAgeMs, int64(250), "it ran for 0.3 s")
	p.Eventually(func() bool { r := p.Reports(); return len(r[len(r)-1].Members) == 0 }, func() string { return "not forgotten" })
	_, log, err = p.Logs(t.Context(), "m1", "tail=1")
	require.NoError(t, err)
	require.Equal(t, "hello 9984\n", log, "its log is not")
	for _, query := range []string{"m2?", "..%2f..%2fjournal?"} {
		code, _, err := p.Logs(t.Context(), strings.TrimSuffix(query, "?"), "")
		require.NoError(t, err)
		require.Equal(t, 404, code)
	}
	code, _, err = p.Logs(t.Context(), "m1", "tail=-1")
	require.NoError(t, err)
	require.Equal(t, 422, code)
}

func TestTheFollowerOfAPreparingMemberWaits(t *testing.T) {
	t.Parallel()
	p := plane(t)
	n := start(t, p, t.TempDir(), "a100-40gb:1", "process")
	gpus := cards(t, p)
	p.Eventually(func() bool { _, _, err := p.Logs(t.Context(), "x", ""); return err == nil }, func() string { return "no tunnel" })
	_, err := n.Inject(t.Context(), simnode.Fault{Kind: "wedge"})
	require.NoError(t, err)
	p.Want(member("m1", gpus[0], "1g.5gb", 0, 1, "echo", "hello"))
	p.Await("m1", agentapi.Preparing)
	got := make(chan string, 1)
	go func() { _, log, _ := p.Logs(t.Context(), "m1", "follow=1"); got <- log }()
	_, err = n.Inject(t.Context(), simnode.Fault{Kind: "heal"})
	require.NoError(t, err)
	require.Equal(t, "hello\n", <-got)
}

func TestStatusShowsTheNode(t *testing.T) {
	t.Parallel()
	p := plane(t)
	n := start(t, p, t.TempDir(), "a100-40gb:2", "null", func(c *simnode.Config) { c.Facts = agent.Facts{VCPUsMilli: 64_500, RAMMiB: 1 << 20} })
	gpus := cards(t, p)
	s := p.Statuses()[0]
	require.True(t, s.Simulated)
	require.Equal(t, agent.Protocol, s.Protocol)
	require.EqualValues(t, 64_500, s.VcpusMilli)
	require.Equal(t, agentapi.RuntimeFacts{Name: "null", Isolation: agentapi.RuntimeFactsIsolationNone}, *s.Runtime)
	card := s.Cards[0]
	require.Equal(t, "a100-40gb", card.Board)
	require.Equal(t, agentapi.On, card.MIGMode)
	require.True(t, card.ResetToToggle)
	require.Equal(t, agentapi.CardPolicyMIG, *card.Policy)
	require.Len(t, card.Profiles, 7)
	require.Equal(t, 8, card.Units)

	p.Want(member("m1", gpus[0], "2g.10gb", 2, 2))
	_, err := n.Inject(t.Context(), simnode.Fault{Kind: "foreign_mig", GPU: ptr(1)})
	require.NoError(t, err)
	var last agentapi.NodeStatus
	p.Eventually(func() bool {
		all := p.Statuses()
		last = all[len(all)-1]
		return len(last.Cards[0].Layout) == 1 && len(last.Cards[1].Layout) == 1 && last.Cards[0].Layout[0].DeviceUUID != ""
	}, func() string { return "the layout is not shown" })
	require.Equal(t, "m1", *last.Cards[0].Layout[0].Member)
	require.False(t, last.Cards[0].Layout[0].Foreign)
	require.True(t, last.Cards[1].Layout[0].Foreign)
	require.Greater(t, last.Seq, s.Seq)
	p.Want(member("m1", gpus[0], "2g.10gb", 2, 2), member("m2", gpus[1], "1g.5gb", 0, 1))
	require.Equal(t, "card_quarantined", p.Await("m2", agentapi.Failed).Reason)
}

func TestWorkGoesOnWithoutAControlPlane(t *testing.T) {
	t.Parallel()
	p := plane(t)
	dir := t.TempDir()
	n := start(t, p, dir, "a100-40gb:1", "process")
	gpus := cards(t, p)
	long := member("long", gpus[0], "1g.5gb", 0, 1, "sleep", "100")
	short := member("short", gpus[0], "1g.5gb", 1, 1, "sh", "-c", "while [ ! -e /tmp/x ]; do sleep 0.05; i=$((i+1)); [ $i = 10 ] && exit 0; done")
	p.Want(long, short)
	p.Await("short", agentapi.Running)
	before := p.Await("long", agentapi.Running)
	p.Stop()
	require.NoError(t, n.stop())

	// A new agent, nobody to ask: what ran is still known, and what ended is taken down.
	again := start(t, p, dir, "a100-40gb:1", "process")
	require.Eventually(t, func() bool { return strings.Contains(journalOf(t, dir), `"reason":"completed"`) }, 20*time.Second, 10*time.Millisecond)
	p.Start()
	end := p.Await("short", agentapi.Stopped)
	require.Equal(t, "completed", end.Reason)
	require.Positive(t, *end.EndedAgeMs)
	after := p.Await("long", agentapi.Running)
	require.Equal(t, *before.Pid, *after.Pid)
	require.Greater(t, *after.RunningAgeMs, *before.RunningAgeMs)
	enrolled, _, _ := p.Counts()
	require.Equal(t, 1, enrolled)
	p.Want(stopped(long, agentapi.User))
	p.Eventually(func() bool { return p.Observed("long").Released }, func() string { return "not released" })
	require.NoError(t, again.stop())
}

func journalOf(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(simnode.StateDir(dir), "journal"))
	require.NoError(t, err)
	return string(data)
}

// An agent cut off for longer than the node time-out and healed: same members, no stop, no second start.
func TestCutOffAndHealed(t *testing.T) {
	t.Parallel()
	for _, direction := range []simnode.Direction{simnode.Both, simnode.In, simnode.Out} {
		t.Run(string(direction), func(t *testing.T) {
			t.Parallel()
			fake := clock.NewFake(time.Now())
			p := controltest.New(t, fake.Now)
			// A tenth of a second per millisecond: deadlines of ten seconds stay longer than any real call.
			stop := make(chan struct{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
						fake.Advance(50 * time.Millisecond)
					}
				}
			}()
			t.Cleanup(func() { close(stop); <-done })
			n := start(t, p, t.TempDir(), "a100-40gb:1", "null", withClock(fake))
			gpus := cards(t, p)
			want := member("m1", gpus[0], "1g.5gb", 0, 1)
			p.Want(want)
			before := p.Await("m1", agentapi.Running)
			_, err := n.Inject(t.Context(), simnode.Fault{Kind: "cut", Direction: direction})
			require.NoError(t, err)
			from := fake.Now()
			for fake.Now().Sub(from) < time.Second { // what was under way arrives
				time.Sleep(time.Millisecond)
			}
			silent := len(p.Statuses())
			for fake.Now().Sub(from) < 60*time.Second {
				time.Sleep(time.Millisecond)
			}
			if direction != simnode.In { // cut inwards only, the server hears a node that does not hear it
				require.LessOrEqual(t, len(p.Statuses()), silent+1)
			}
			_, err = n.Inject(t.Context(), simnode.Fault{Kind: "heal"})
			require.NoError(t, err)
			reports := len(p.Reports())
			p.Eventually(func() bool { return len(p.Reports()) > reports+1 }, func() string { return "no report after the heal" })
			after := p.Observed("m1")
			require.Equal(t, agentapi.Running, after.State)
			require.Equal(t, before.Seats, after.Seats)
			require.Greater(t, *after.RunningAgeMs, *before.RunningAgeMs)
		})
	}
}

func TestANewBootStartsNothingAndReportsFirst(t *testing.T) {
	t.Parallel()
	p := plane(t)
	n := start(t, p, t.TempDir(), "h100-80gb-sxm5:1", "process")
	gpus := cards(t, p)
	want := member("m1", gpus[0], "1g.10gb", 0, 1, "sleep", "100")
	p.Want(want)
	before := p.Await("m1", agentapi.Running)
	boot := p.Statuses()[0].BootID
	calls, reports := len(p.Calls()), len(p.Reports())
	p.Keep()
	_, err := n.Inject(t.Context(), simnode.Fault{Kind: "reboot"})
	require.NoError(t, err)
	gone := p.Await("m1", agentapi.Gone)
	require.True(t, gone.Released)
	require.False(t, alive(*before.Pid), "its process died with the boot")
	p.Eventually(func() bool { return contains(p.Calls()[calls:], "GET /agent/v1/desired") }, func() string { return "desired was not asked" })

	var first agentapi.Report
	for _, r := range p.Reports()[reports:] {
		if r.BootID != boot {
			first = r
			break
		}
	}
	require.True(t, first.Full, "the first report of a boot is full")
	require.Equal(t, "m1", first.Members[0].Member)
	require.Equal(t, agentapi.Gone, first.Members[0].State)
	p.Want(want)
	time.Sleep(50 * time.Millisecond) // nothing is to happen
	require.Equal(t, agentapi.Gone, p.Observed("m1").State)
	p.Want(want, member("m2", gpus[0], "1g.10gb", 0, 1, "sleep", "100"))
	p.Await("m2", agentapi.Running)
}

// Desired is not asked before the first full report of a boot was answered.
func TestDesiredWaitsForTheFirstReport(t *testing.T) {
	t.Parallel()
	p := plane(t)
	p.Refuse(true)
	start(t, p, t.TempDir(), "a100-40gb:1", "null")
	p.Eventually(func() bool { return count(p.Calls(), "POST /agent/v1/reports") >= 2 }, func() string { return "no reports" })
	require.NotContains(t, p.Calls(), "GET /agent/v1/desired")
	p.Refuse(false)
	p.Eventually(func() bool { return contains(p.Calls(), "GET /agent/v1/desired") }, func() string { return "desired was not asked" })
}

func TestARestoredControlPlaneStopsNothingBeforeItKnows(t *testing.T) {
	t.Parallel()
	p := plane(t)
	start(t, p, t.TempDir(), "a100-40gb:1", "null")
	gpus := cards(t, p)
	a, b := member("a", gpus[0], "1g.5gb", 0, 1), member("b", gpus[0], "1g.5gb", 1, 1)
	p.Want(a, b)
	p.Await("a", agentapi.Running)
	p.Await("b", agentapi.Running)
	p.Want() // an empty desired answer stops nothing
	p.Refuse(true)
	p.Restore("inc-2", stopped(a, agentapi.User))
	p.Eventually(func() bool { s := p.Statuses(); return (*s[len(s)-1].Counters)["stops_held"] == 1 }, func() string { return "the stop is not held" })
	require.Equal(t, agentapi.Running, p.Observed("a").State)
	p.Refuse(false)
	p.Await("a", agentapi.Stopped)
	require.Equal(t, agentapi.Running, p.Observed("b").State)
	full := false
	for _, r := range p.Reports() {
		if r.Incarnation != nil && *r.Incarnation == "inc-2" {
			full = r.Full
			break
		}
	}
	require.True(t, full, "the new incarnation was first told everything")
}

func TestFarewell(t *testing.T) {
	t.Parallel()
	p := plane(t)
	dir := t.TempDir()
	n := start(t, p, dir, "a100-40gb:1", "process")
	gpus := cards(t, p)
	p.Want(member("m1", gpus[0], "1g.5gb", 0, 1, "sleep", "100"))
	o := p.Await("m1", agentapi.Running)
	boot := p.Statuses()[0].BootID
	require.NoError(t, n.GoDown(t.Context()))
	require.NoError(t, n.stop())
	_, _, farewells := p.Counts()
	require.Equal(t, 1, farewells)
	require.False(t, alive(*o.Pid))
	require.Equal(t, agentapi.Running, p.Observed("m1").State, "its end is told by the farewell, not as a failure")
	start(t, p, dir, "a100-40gb:1", "process")
	p.Await("m1", agentapi.Gone)
	p.Eventually(func() bool { // reports and statuses come in no order of their own
		s := p.Statuses()
		return s[len(s)-1].BootID != boot
	}, func() string { return "no status of a new boot" })
}

func TestAContainerDeafToKillKeepsItsSeat(t *testing.T) {
	t.Parallel()
	p := plane(t)
	n := start(t, p, t.TempDir(), "a100-40gb:1", "process")
	gpus := cards(t, p)
	want := member("m1", gpus[0], "1g.5gb", 0, 1, "sleep", "100")
	p.Want(want)
	p.Await("m1", agentapi.Running)
	_, err := n.Inject(t.Context(), simnode.Fault{Kind: "hang_container"})
	require.NoError(t, err)
	p.Want(stopped(want, agentapi.User))
	p.Await("m1", agentapi.Stopping)
	p.Want(stopped(want, agentapi.User), member("m2", gpus[0], "1g.5gb", 0, 1, "true"))
	require.Equal(t, "span_occupied", p.Await("m2", agentapi.Failed).Reason)
	_, err = n.Inject(t.Context(), simnode.Fault{Kind: "heal"})
	require.NoError(t, err)
	require.Equal(t, "user", p.Await("m1", agentapi.Stopped).Reason)
}

func TestCertificatesAreRenewedAtTwoThirds(t *testing.T) {
	t.Parallel()
	fake := clock.NewFake(time.Now())
	p := controltest.New(t, fake.Now)
	dir := t.TempDir()
	start(t, p, dir, "t4-16gb:1", "null", withClock(fake))
	cards(t, p)
	key, err := os.ReadFile(filepath.Join(simnode.StateDir(dir), "node.pem"))
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(simnode.StateDir(dir), "node.pem"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	forward := func(d time.Duration) {
		for end := fake.Now().Add(d); fake.Now().Before(end); {
			fake.Advance(10 * time.Minute)
			time.Sleep(time.Millisecond)
		}
	}
	forward(15*time.Hour + 30*time.Minute)
	_, renewed, _ := p.Counts()
	require.Zero(t, renewed)
	p.Eventually(func() bool { fake.Advance(time.Minute); _, n, _ := p.Counts(); return n == 1 }, func() string { return "not renewed" })
	require.WithinDuration(t, time.Now(), fake.Now(), 18*time.Hour)
	p.Eventually(func() bool {
		next, err := os.ReadFile(filepath.Join(simnode.StateDir(dir), "node.pem"))
		return err == nil && string(next) != string(key)
	}, func() string { return "not kept" })
	n := len(p.Statuses())
	p.Eventually(func() bool { fake.Advance(time.Second); return len(p.Statuses()) > n }, func() string { return "no status with the new certificate" })
}

func TestJoinTrustsOnlyThePin(t *testing.T) {
	t.Parallel()
	p := plane(t)
	join := func(c agent.JoinConfig) error {
		c.StateDir, c.Clock = t.TempDir(), clock.Real{}
		_, err := agent.Join(t.Context(), c)
		require.NoFileExists(t, filepath.Join(c.StateDir, "node.pem"))
		return err
	}
	good := agent.JoinConfig{Server: p.URL, Token: controltest.Token, CAPin: p.Pin, Name: "n1"}
	for _, c := range []struct {
		change func(*agent.JoinConfig)
		says   string
	}{
		{func(c *agent.JoinConfig) { c.CAPin = "sha256:" + strings.Repeat("00", 32) }, "does not show the CA"},
		{func(c *agent.JoinConfig) { c.CAPin = "sha256:12" }, "64 hexadecimal digits"},
		{func(c *agent.JoinConfig) { c.Server = "http://127.0.0.1:1" }, "must look like https"},
		{func(c *agent.JoinConfig) { c.Name = "No_Name" }, "lower-case"},
		{func(c *agent.JoinConfig) { c.Server = strings.Replace(p.URL, "127.0.0.1", "localhost", 1) }, "certificate"},
	} {
		bad := good
		c.change(&bad)
		require.ErrorContains(t, join(bad), c.says)
	}
	enrolled, _, _ := p.Counts()
	require.Zero(t, enrolled, "none of them got as far as the token")
	bad := good
	bad.Token = "wj_wrong"
	require.ErrorIs(t, join(bad), fault.Forbidden)

	good.StateDir, good.Clock = t.TempDir(), clock.Real{}
	id, err := agent.Join(t.Context(), good)
	require.NoError(t, err)
	require.Equal(t, "nod_n1", id)
	require.True(t, agent.Joined(good.StateDir, time.Now()))
	require.False(t, agent.Joined(good.StateDir, time.Now().AddDate(0, 0, 2)))
	_, err = agent.Join(t.Context(), good)
	require.NoError(t, err)
	enrolled, _, _ = p.Counts()
	require.Equal(t, 1, enrolled, "a good identity is kept")
}

func TestANodeWithoutTokenOrWithABadOneEnds(t *testing.T) {
	t.Parallel()
	p := plane(t)
	none := start(t, p, t.TempDir(), "t4-16gb:1", "null", func(c *simnode.Config) { c.JoinToken = "" })
	require.ErrorIs(t, none.wait(), agent.ErrNotJoined)
	bad := start(t, p, t.TempDir(), "t4-16gb:1", "null", func(c *simnode.Config) { c.JoinToken = "wj_bad" })
	require.ErrorIs(t, bad.wait(), fault.Forbidden)
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := plane(t)
	start(t, p, dir, "t4-16gb:1", "null")
	cards(t, p)
	node, err := simgpu.Open(simgpu.Config{Dir: filepath.Join(dir, "cards")})
	require.NoError(t, err)
	rt := nullRuntime(t)
	_, err = agent.New(agent.Config{Name: "n1", StateDir: simnode.StateDir(dir), Driver: node, Runtime: rt})
	require.ErrorIs(t, err, agent.ErrRunning, "one agent per state directory")
	_, err = agent.New(agent.Config{Name: "N 1", Driver: node, Runtime: rt})
	require.ErrorContains(t, err, "lower-case")
	require.ErrorContains(t, err, "state directory")
	_, err = agent.New(agent.Config{Name: "n1", StateDir: t.TempDir(), Driver: real{node}, Runtime: rt})
	require.ErrorContains(t, err, "real cards")
}
