package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/e2e/internal/stack"
)

// agent is a separately running weir-agent with the sim driver.
type agent struct {
	t      *testing.T
	binary string
	state  string
	cmd    *exec.Cmd
}

func (a *agent) start() {
	a.t.Helper()
	a.cmd = exec.Command(a.binary, "run", "--state-dir", a.state, "--driver", "sim", "--sim-board", "h200-141gb:1", "--runtime", "process", "--node-name", "outsider")
	out, err := os.Create(filepath.Join(a.t.TempDir(), "agent.log"))
	require.NoError(a.t, err)
	a.cmd.Stdout, a.cmd.Stderr = out, out
	require.NoError(a.t, a.cmd.Start())
	a.t.Cleanup(func() {
		if a.t.Failed() {
			b, _ := os.ReadFile(out.Name())
			a.t.Logf("weir-agent: %s", b)
		}
	})
}

func (a *agent) kill() {
	a.t.Helper()
	_ = a.cmd.Process.Signal(syscall.SIGKILL)
	_ = a.cmd.Wait()
}

// A node of one's own: the operator prints the join line, the agent runs it as it stands,
// its card is for rent; killed and started again it keeps what runs.
func TestAgentJoinsByThePrintedLine(t *testing.T) {
	t.Parallel()
	s := start(t, "--sim-nodes", "1xt4-16gb:1")
	operator := newCLI(t, s)
	r := operator.run(stack.AdminPassword+"\n", "login", "--email", stack.AdminEmail, "--password-stdin")
	require.Zero(t, r.code, r.err)
	line := strings.Fields(strings.TrimSpace(operator.ok("nodes", "token")))
	require.Greater(t, len(line), 2, "%v", line)
	require.Equal(t, []string{"weir-agent", "join"}, line[:2])

	a := &agent{t: t, binary: filepath.Join(filepath.Dir(s.Binary), "weir-agent"), state: filepath.Join(shortDir(t), "agent")}
	join := exec.CommandContext(t.Context(), a.binary, append(line[1:], "--state-dir", a.state, "--node-name", "outsider")...)
	out, err := join.CombinedOutput()
	require.NoError(t, err, "%s", out)
	again := exec.CommandContext(t.Context(), a.binary, append(line[1:], "--state-dir", a.state+"2", "--node-name", "thief")...)
	out, err = again.CombinedOutput()
	require.Error(t, err, "a join token works once: %s", out)

	a.start()
	defer func() { a.kill() }()
	c := newTenant(t, s, "outside")
	awaitOffering(t, c, "h200-141gb.1g.18gb")
	id := rent(t, c, "h200-141gb.1g.18gb", "sh", "-c", "echo from outside; exec sleep 6161")
	ins := awaitState(t, c, id, "running", 20*time.Second)
	require.Equal(t, "outsider", nodeOf(ins))
	pid := pidOf(t, "sleep\x006161")

	a.kill()
	a.start()
	logs, err := c.Get(t.Context(), "/v1/instances/"+id+"/logs")
	for i := 0; err == nil && logs.Status != 200 && i < 100; i++ {
		time.Sleep(100 * time.Millisecond)
		logs, err = c.Get(t.Context(), "/v1/instances/"+id+"/logs")
	}
	require.NoError(t, err)
	require.Equal(t, "from outside\n", string(logs.Raw))
	require.Equal(t, pid, pidOf(t, "sleep\x006161"), "an agent that is killed keeps its members")
	_, err = c.Do(t.Context(), "DELETE", "/v1/instances/"+id, nil)
	require.NoError(t, err)
	awaitState(t, c, id, "stopped", 20*time.Second)
	requireSound(t, s)
}
