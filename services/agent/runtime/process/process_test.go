package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weirhq/weir/services/agent/internal/boottime"
	"github.com/weirhq/weir/services/agent/runtime"
	"github.com/weirhq/weir/services/agent/shim"
)

func TestMain(m *testing.M) {
	shim.MaybeRun()
	if dir := os.Getenv("WEIR_TEST_HOST"); dir != "" {
		host(dir)
	}
	os.Exit(m.Run())
}

// host is another agent process: it starts a member and waits to be killed.
func host(dir string) {
	r, err := New(context.Background(), Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = r.Adopt(context.Background(), "boot-1", nil)
	}
	if err == nil {
		_, err = r.Start(context.Background(), spec("m1", "sh", "-c", "echo first; while [ ! -e /tmp/go ]; do sleep 0.05; done"))
	}
	if err == nil {
		_, err = r.Start(context.Background(), spec("m2", "sh", "-c", "sleep 0.5; exit 7"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, "up")
	select {}
}

func spec(member string, command ...string) runtime.Spec {
	return runtime.Spec{Member: member, Instance: "ins_1", Command: command, LogLimitMiB: 1,
		Devices: []runtime.Device{{UUID: "MIG-1", MemoryMiB: 9984}}}
}

type bench struct {
	*Runtime
	mu    sync.Mutex
	ended map[string]bool
}

func setup(t *testing.T, dir string) *bench {
	t.Helper()
	r, err := New(t.Context(), Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	b := &bench{Runtime: r, ended: map[string]bool{}}
	require.NoError(t, r.Adopt(t.Context(), "boot-1", func(m string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ended[m] = true
	}))
	t.Cleanup(func() {
		require.NoError(t, r.KillAll(context.Background()))
		require.NoError(t, r.Close())
	})
	return b
}

func (b *bench) hasEnded(member string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended[member]
}

// await returns the state of a member once the runtime has told that it ended.
func (b *bench) await(t *testing.T, member string) runtime.State {
	t.Helper()
	require.Eventually(t, func() bool { return b.hasEnded(member) }, 20*time.Second, 5*time.Millisecond)
	s, err := b.Observe(t.Context(), member)
	require.NoError(t, err)
	require.Equal(t, runtime.Exited, s.Phase)
	return s
}

func (b *bench) run(t *testing.T, s runtime.Spec) runtime.State {
	t.Helper()
	state, err := b.Start(t.Context(), s)
	require.NoError(t, err)
	require.NotZero(t, state.RunningAt)
	return state
}

func (b *bench) log(t *testing.T, member string, tail int) string {
	t.Helper()
	l, err := b.Logs(t.Context(), member, runtime.LogOptions{Tail: tail})
	require.NoError(t, err)
	defer l.Close()
	data, err := io.ReadAll(l)
	require.NoError(t, err)
	return string(data)
}

func TestHelloAndExitCodes(t *testing.T) {
	t.Parallel()
	b := setup(t, t.TempDir())
	for i, c := range []struct {
		command []string
		code    int
		signal  int
		log     string
	}{
		{[]string{"sh", "-c", "echo hello; echo oops >&2"}, 0, 0, "hello\noops\n"},
		{[]string{"sh", "-c", "exit 3"}, 3, 0, ""},
		{[]string{"sh", "-c", "kill -9 $$"}, 137, 9, ""},
		{[]string{"sh", "-c", "sleep 300 & echo bye"}, 0, 0, "bye\n"}, // what it leaves behind does not keep it alive
	} {
		member := fmt.Sprint("m", i)
		b.run(t, spec(member, c.command...))
		s := b.await(t, member)
		require.Equal(t, c.code, s.ExitCode, c.command)
		require.Equal(t, c.signal, s.Signal)
		require.False(t, s.Vanished)
		require.GreaterOrEqual(t, s.EndedAt, s.RunningAt)
		require.Equal(t, c.log, b.log(t, member, -1))
	}
}

func TestTheEndIsSeenPromptly(t *testing.T) {
	t.Parallel()
	b := setup(t, t.TempDir())
	b.run(t, spec("m1", "sh", "-c", "sleep 0.2"))
	s := b.await(t, "m1")
	require.Less(t, boottime.Now()-s.EndedAt, 300*time.Millisecond+time.Second*load())
}

// load is slack for a busy machine: none by default.
func load() time.Duration {
	if os.Getenv("WEIR_TEST_BUSY") != "" {
		return 5
	}
	return 0
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	b := setup(t, t.TempDir())
	_, err := b.Start(t.Context(), spec("m1", "no-such-program"))
	require.ErrorContains(t, err, "no such program")
	_, err = b.Start(t.Context(), spec("m2", "/etc/passwd"))
	require.ErrorContains(t, err, "permission denied")
	image := spec("m3", "true")
	image.Image = "ubuntu"
	_, err = b.Start(t.Context(), image)
	require.ErrorIs(t, err, runtime.ErrRefused)
	s, err := b.Observe(t.Context(), "m1")
	require.NoError(t, err)
	require.Equal(t, runtime.Absent, s.Phase)
	entries, err := os.ReadDir(filepath.Join(b.cfg.Dir, "uids"))
	require.NoError(t, err)
	require.Empty(t, entries, "their uids are free again")
}

func TestStartingTwiceIsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, t.TempDir())
	first := b.run(t, spec("m1", "sleep", "100"))
	second := b.run(t, spec("m1", "sleep", "100"))
	require.Equal(t, first, second)
}

func TestStop(t *testing.T) {
	t.Parallel()
	b := setup(t, t.TempDir())
	b.run(t, spec("polite", "sh", "-c", "trap 'echo got it; exit 5' TERM; echo ready; while :; do sleep 0.05; done"))
	b.run(t, spec("deaf", "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"))
	b.run(t, spec("pause"))
	for _, m := range []string{"polite", "deaf"} {
		require.Eventually(t, func() bool { return b.log(t, m, -1) == "ready\n" }, 10*time.Second, 5*time.Millisecond)
	}
	s, err := b.Stop(t.Context(), "polite", 20*time.Second)
	require.NoError(t, err)
	require.Equal(t, 5, s.ExitCode)
	require.Equal(t, "ready\ngot it\n", b.log(t, "polite", -1))
	s, err = b.Stop(t.Context(), "deaf", 100*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, 9, s.Signal)
	s, err = b.Stop(t.Context(), "pause", 20*time.Second)
	require.NoError(t, err)
	require.Zero(t, s.ExitCode)
	s, err = b.Stop(t.Context(), "polite", time.Second)
	require.NoError(t, err)
	require.Equal(t, 5, s.ExitCode, "stopping again changes nothing")
	s, err = b.Stop(t.Context(), "never", time.Second)
	require.NoError(t, err)
	require.Equal(t, runtime.Absent, s.Phase)
	require.NoError(t, b.Remove(t.Context(), "polite"))
	require.Equal(t, "got it\n", b.log(t, "polite", 1), "the log outlives the member")
}

// sandboxed runs a script and returns its words.
func sandboxed(t *testing.T, b *bench, member, script string) []string {
	t.Helper()
	b.run(t, spec(member, "sh", "-c", script))
	b.await(t, member)
	return strings.Fields(b.log(t, member, -1))
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give members uids of their own")
	}
}

func TestIsolation(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	dir := t.TempDir()
	b := setup(t, dir)
	require.Equal(t, runtime.Facts{Name: "process", Isolation: runtime.Sandboxed}, b.Facts())
	secret := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s3cret"), 0o644))
	b.run(t, spec("other", "sleep", "100"))

	uid := sandboxed(t, b, "uid", "id -u; id -G")
	require.NotEqual(t, "0", uid[0])
	other, ok, err := shim.ReadState(b.dirOf("other"))
	require.NoError(t, err)
	require.True(t, ok)
	require.NotEqual(t, strconv.Itoa(other.UID), uid[0], "no two members share a uid")
	require.Equal(t, []string{uid[0]}, uid[1:], "no group of the node")
	require.Contains(t, shim.OfUID(other.UID), other.Init.PID)

	require.Equal(t, []string{"gone"}, sandboxed(t, b, "state", "cat "+secret+" 2>/dev/null || echo gone"))
	require.Equal(t, []string{"gone"}, sandboxed(t, b, "data", "ls "+b.cfg.Dir+" 2>/dev/null || echo gone"))
	require.Equal(t, []string{"0"}, sandboxed(t, b, "root", "ls /root /home /var /work /sys 2>/dev/null | wc -l"))
	require.Equal(t, []string{"no"}, sandboxed(t, b, "write", "for d in / /usr /etc /dev /bin; do touch $d/x 2>/dev/null && echo $d; done; echo no"))
	require.Equal(t, []string{"0", "private"}, sandboxed(t, b, "tmp", "ls /tmp | wc -l; echo private > /tmp/x; cat /tmp/x"))
	require.Equal(t, []string{"no"}, sandboxed(t, b, "shadow", "cat /etc/shadow 2>/dev/null || echo no"))

	pids := sandboxed(t, b, "pids", "ls /proc | grep -E '^[0-9]+$'")
	require.Contains(t, pids, "1")
	require.LessOrEqual(t, len(pids), 5, "only its own processes: %v", pids)
	require.Equal(t, []string{"no"}, sandboxed(t, b, "kill", "kill -9 "+strconv.Itoa(other.Init.PID)+" 2>/dev/null || echo no"))
	require.Equal(t, []string{"lo"}, sandboxed(t, b, "net", "ls /proc/sys/net/ipv4/conf | grep -v -E 'all|default'"))
	require.Equal(t, []string{"hostname"}, sandboxed(t, b, "hostname", "cat /proc/sys/kernel/hostname"))

	caps := sandboxed(t, b, "caps", "grep -E '^(Cap|NoNewPrivs)' /proc/self/status")
	require.Equal(t, strings.Fields("CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 CapAmb: 0000000000000000 NoNewPrivs: 1"), caps)
	require.Equal(t, []string{"no"}, sandboxed(t, b, "userns", "unshare -U true 2>/dev/null || echo no"))
	require.Equal(t, []string{"no"}, sandboxed(t, b, "mount", "mount -t tmpfs x /tmp 2>/dev/null || echo no"))
	require.Equal(t, []string{"1024", "4096", "0"}, sandboxed(t, b, "limits", "ulimit -u 2>/dev/null || echo 1024; ulimit -n; ulimit -c"))
	require.Equal(t, []string{"no"}, sandboxed(t, b, "init", "cat /proc/1/environ 2>/dev/null || echo no"))
	fds := sandboxed(t, b, "fds", "ls /proc/self/fd")
	require.LessOrEqual(t, len(fds), 4, "no file of ours is left open: %v", fds)

	s, err := b.Observe(t.Context(), "other")
	require.NoError(t, err)
	require.Equal(t, runtime.Running, s.Phase)
}

func TestTheSliceIsPublishedAndDevicesAreNotChosen(t *testing.T) { // modular/modular#6896
	t.Parallel()
	b := setup(t, t.TempDir())
	s := spec("m1", "env")
	s.Env = map[string]string{"GREETING": "hi there", "CUDA_VISIBLE_DEVICES": "all", "NVIDIA_VISIBLE_DEVICES": "all", "WEIR_MEMBER": "forged"}
	s.Devices = append(s.Devices, runtime.Device{UUID: "MIG-2", MemoryMiB: 9984})
	b.run(t, s)
	b.await(t, "m1")
	env := strings.Split(strings.TrimSpace(b.log(t, "m1", -1)), "\n")
	require.ElementsMatch(t, []string{"GREETING=hi there", "CUDA_VISIBLE_DEVICES=MIG-1,MIG-2", "WEIR_MEMBER=m1", "WEIR_INSTANCE=ins_1",
		"WEIR_GPU_COUNT=2", "WEIR_SLICE_MEMORY_MIB=9984", "HOME=/tmp", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, env)
}

func TestNoSecretIsOnDisk(t *testing.T) {
	t.Parallel()
	b := setup(t, t.TempDir())
	s := spec("m1", "sh", "-c", ": c0mmand; echo ready; sleep 100")
	s.Env = map[string]string{"TOKEN": "t0ps3cret"}
	b.run(t, s)
	require.NoError(t, filepath.WalkDir(b.cfg.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, string(data), "t0ps3cret", path)
		require.NotContains(t, string(data), "c0mmand", path)
		return nil
	}))
}

func TestTheDeathOfTheShimEndsTheCommand(t *testing.T) {
	t.Parallel()
	b := setup(t, t.TempDir())
	b.run(t, spec("m1", "sleep", "100"))
	state, _, err := shim.ReadState(b.dirOf("m1"))
	require.NoError(t, err)
	require.NoError(t, unix.Kill(state.Shim.PID, unix.SIGKILL))
	s := b.await(t, "m1")
	require.True(t, s.Vanished)
	require.GreaterOrEqual(t, s.EndedAt, s.RunningAt, "the last proof of life")
	require.Eventually(t, func() bool { return !state.Init.Alive() }, 5*time.Second, 5*time.Millisecond)
}

// A kill -9 of the agent's process touches nobody; the next agent knows its members again and how they ended meanwhile.
func TestMembersSurviveTheAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	agent := exec.Command("/proc/self/exe")
	agent.Env = append(os.Environ(), "WEIR_TEST_HOST="+dir)
	agent.Stderr = os.Stderr
	out, err := agent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	_, err = io.ReadFull(out, make([]byte, 3))
	require.NoError(t, err)
	before, _, err := shim.ReadState(filepath.Join(dir, "members", "m1"))
	require.NoError(t, err)
	require.NoError(t, agent.Process.Kill())
	_ = agent.Wait()
	require.Eventually(t, func() bool { _, ok, _ := shim.ReadExit(filepath.Join(dir, "members", "m2")); return ok }, 20*time.Second, 10*time.Millisecond)

	b := setup(t, dir)
	s, err := b.Observe(t.Context(), "m1")
	require.NoError(t, err)
	require.Equal(t, runtime.Running, s.Phase)
	require.Equal(t, before.Init.PID, s.PID, "the same process")
	require.Equal(t, before.RunningAt, s.RunningAt, "its gap is proven")
	require.Equal(t, 7, b.await(t, "m2").ExitCode, "ended while nobody looked")
	require.Equal(t, "first\n", b.log(t, "m1", -1))

	s, err = b.Stop(t.Context(), "m1", 100*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, runtime.Exited, s.Phase)
	require.False(t, before.Init.Alive() && !zombie(before.Init.PID))
}

func zombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(data), ") Z ")
}

func TestAnotherBootAdoptsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := setup(t, dir)
	b.run(t, spec("m1", "sh", "-c", "echo before; sleep 100"))
	require.Eventually(t, func() bool { return b.log(t, "m1", -1) != "" }, 10*time.Second, 5*time.Millisecond)
	state, _, err := shim.ReadState(b.dirOf("m1"))
	require.NoError(t, err)
	next, err := New(t.Context(), Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, next.Adopt(t.Context(), "boot-2", nil))
	defer next.Close()
	s, err := next.Observe(t.Context(), "m1")
	require.NoError(t, err)
	require.Equal(t, runtime.Absent, s.Phase)
	require.Eventually(t, func() bool { return len(shim.OfUID(state.UID)) == 0 || !state.OwnUID }, 5*time.Second, 5*time.Millisecond)

	// A number that now belongs to somebody else is not killed.
	mine, err := json.Marshal(shim.State{Member: "m2", Boot: "boot-1", HostBoot: boottime.HostBoot(), Shim: shim.Process{PID: os.Getpid(), Start: 1}, Init: shim.Process{PID: os.Getpid(), Start: 1}})
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(b.dirOf("m2"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(b.dirOf("m2"), "state.json"), mine, 0o600))
	third, err := New(t.Context(), Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, third.Adopt(t.Context(), "boot-3", nil))
	require.NoError(t, third.Close())
}

func TestLogsRotateFollowAndTail(t *testing.T) {
	t.Parallel()
	b := setup(t, t.TempDir())
	b.run(t, spec("m1", "sh", "-c", "i=0; while [ $i -lt 60000 ]; do echo line $i of a long output, padded to some length; i=$((i+1)); done"))
	follow, err := b.Logs(t.Context(), "m1", runtime.LogOptions{Follow: true, Tail: -1})
	require.NoError(t, err)
	all, err := io.ReadAll(follow)
	require.NoError(t, err)
	require.NoError(t, follow.Close())
	require.Contains(t, string(all), "line 59999 of", "it ends with the member")
	b.await(t, "m1")
	kept := int64(0)
	for _, name := range []string{shim.LogFile, shim.OldLog} {
		info, err := os.Stat(filepath.Join(b.dirOf("m1"), name))
		require.NoError(t, err)
		kept += info.Size()
	}
	require.LessOrEqual(t, kept, int64(1<<20+1<<16))
	require.Equal(t, "line 59999 of a long output, padded to some length\n", b.log(t, "m1", 1))
	require.Empty(t, b.log(t, "m1", 0))
	tail := strings.Split(strings.TrimSpace(b.log(t, "m1", 12000)), "\n")
	require.Equal(t, 12000, len(tail), "over both files")
	require.Contains(t, tail[0], "line 48000 of")
	_, err = b.Logs(t.Context(), "nobody", runtime.LogOptions{})
	require.ErrorIs(t, err, runtime.ErrNoMember)
}

func TestWeakerWallsAreNamed(t *testing.T) {
	t.Parallel()
	b := setup(t, t.TempDir())
	for _, w := range []shim.Walls{{OwnUID: b.walls.OwnUID, Namespaces: b.walls.OwnUID}, {OwnUID: b.walls.OwnUID}} {
		b.walls = w
		require.Equal(t, runtime.Weak, b.Facts().Isolation)
		require.Contains(t, b.Facts().Missing, "user_namespace")
		member := fmt.Sprint("m", w.Namespaces)
		b.run(t, spec(member, "sh", "-c", "id -u; grep NoNewPrivs /proc/self/status; (sleep 300 &) ; exit 4"))
		state, _, err := shim.ReadState(b.dirOf(member))
		require.NoError(t, err)
		require.Equal(t, 4, b.await(t, member).ExitCode)
		require.Equal(t, []string{strconv.Itoa(state.UID), "NoNewPrivs:", "1"}, strings.Fields(b.log(t, member, -1)))
		if w.OwnUID {
			require.Empty(t, shim.OfUID(state.UID), "nothing is left of it")
		}
	}
}
