package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/e2e/internal/rest"
	"github.com/weirhq/weir/e2e/internal/stack"
)

// The main job as a newcomer does it: log in, look, rent, read, pay.
func TestRentASliceFromTheCommandLine(t *testing.T) {
	t.Parallel()
	s := start(t)
	demo, err := s.Demo(t.Context())
	require.NoError(t, err)
	awaitOffering(t, demo, "h100-80gb.1g.10gb")

	me := newCLI(t, s)
	r := me.run(stack.DemoPassword+"\n", "login", "--email", stack.DemoEmail, "--password-stdin")
	require.Zero(t, r.code, r.err)
	require.Contains(t, me.ok("offerings"), "h100-80gb.1g.10gb")

	r = me.run("", "run", "--offering", "h100-80gb.1g.10gb", "--name", "greeter", "--", "sh", "-c", "echo hello; exit 7")
	require.Equal(t, 7, r.code, "weir run exits with the command's own code\n%s", r.err)
	require.Equal(t, "hello\n", r.out, "stdout is the command's output and nothing else")

	list := me.ok("instances", "ls", "-o", "json")
	require.Contains(t, list, "greeter")
	usage := me.ok("usage", "--group-by", "instance", "-o", "json")
	require.Contains(t, usage, "cost")

	require.Equal(t, 3, me.run("", "instances", "show", "ins_00000000000000000000000000").code, "not found is 3")
	require.Equal(t, 2, me.run("", "instances", "show").code, "a missing argument is 2")
	for range 2 { // two servers of eight: the demo org's whole limit
		me.ok("run", "--detach", "--offering", "h100-80gb.whole", "--count", "8", "--", "sleep", "60")
	}
	r = me.run("", "run", "--offering", "h100-80gb.whole", "--", "true")
	require.Equal(t, 5, r.code, "no capacity or quota is 5")
	require.Contains(t, r.err, "gpue", "the limit is named")
	requireSound(t, s)
}

// The same over REST, with the times the product promises.
func TestRentASliceOverREST(t *testing.T) {
	t.Parallel()
	s := start(t)
	c, _, err := rest.New(s.URL).Signup(t.Context(), "ann@example.com", "a-long-enough-password", "Ann's lab")
	require.NoError(t, err)
	o := awaitOffering(t, c, "h100-80gb.1g.10gb")
	require.Equal(t, "hardware", o["isolation"])
	before, _ := o["available"].(float64)

	id := rent(t, c, "h100-80gb.1g.10gb", "sh", "-c", "echo hello; sleep 60")
	ins := awaitState(t, c, id, "running", 10*time.Second)
	created, err := time.Parse(time.RFC3339Nano, rest.Str(ins, "created_at"))
	require.NoError(t, err)
	running, err := time.Parse(time.RFC3339Nano, rest.Str(ins, "running_at"))
	require.NoError(t, err)
	t.Logf("assigned to running: %s", running.Sub(created))

	after, _ := awaitOffering(t, c, "h100-80gb.1g.10gb")["available"].(float64)
	require.Equal(t, before-1, after, "availability counts the slice that was sold")

	logs, err := c.Get(t.Context(), "/v1/instances/"+id+"/logs")
	require.NoError(t, err)
	require.Equal(t, "hello\n", string(logs.Raw))

	other, _, err := rest.New(s.URL).Signup(t.Context(), "bob@example.com", "a-long-enough-password", "Bob's lab")
	require.NoError(t, err)
	foreign, err := other.Get(t.Context(), "/v1/instances/"+id)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, foreign.Status)

	r, err := c.Do(t.Context(), http.MethodPost, "/v1/instances/"+id+"/stop", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, r.Status, "%s", r.Raw)
	ins = awaitState(t, c, id, "stopped", 20*time.Second)
	require.NotNil(t, ins["cost_so_far"])

	usage, err := c.Get(t.Context(), "/v1/usage?group_by=instance&from="+created.Add(-time.Hour).UTC().Format(time.RFC3339)+"&to="+created.Add(time.Hour).UTC().Format(time.RFC3339)+"&granularity=day")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, usage.Status, "%s", usage.Raw)
	require.True(t, strings.Contains(string(usage.Raw), id), "%s", usage.Raw)
	requireSound(t, s)
}
