package command

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/api/inventoryapi"
	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
)

func TestStopAndRemove(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	p := newPerson(t, d)
	other := "ins_01J9Z3N8Q4T5V6W7X8Y9Z0A1B3"
	answer := func(r *http.Request, _ string) (int, any) {
		if r.PathValue("id") != insID {
			return 0, fault.New(fault.NotFound, "There is no such instance.")
		}
		return http.StatusAccepted, instance(allocatorapi.Stopping)
	}
	d.on("POST /v1/instances/{id}/stop", answer)
	d.on("DELETE /v1/instances/{id}", answer)

	require.Equal(t, result{"", "stopping " + insID + "\n", 0}, p.run("", "instances", "stop", insID))
	require.Equal(t, result{"", "deleting " + insID + "\n", 0}, p.run("", "instances", "rm", insID))
	require.Equal(t, result{"", "weir: There is no such instance.\n", 3}, p.run("", "instances", "rm", other))
	require.Equal(t, result{"", other + ":\nweir: There is no such instance.\ndeleting " + insID + "\n", 3}, p.run("", "instances", "rm", other, insID), "one that fails does not save the others")
}

func TestLogs(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	p := newPerson(t, d)
	d.raw("GET /v1/instances/{id}/logs", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("one\ntwo\x00\xff")) })
	require.Equal(t, result{"one\ntwo\x00\xff", "", 0}, p.run("", "instances", "logs", "-f", "--tail", "5", insID))
	require.Equal(t, "follow=true&tail=5", sorted(d.seen("getInstanceLogs")[0].query))
	require.Equal(t, 2, p.run("", "instances", "logs", "--tail", "-1", insID).code)
}

func TestOperatorSetsLimits(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	p := newPerson(t, d)
	code := http.StatusOK
	d.on("PATCH /v1/admin/orgs/{id}", func(*http.Request, string) (int, any) { return code, adminOrg() })
	require.Zero(t, p.run("", "orgs", "limits", orgID, "--gpue", "2.5", "--instances", "unlimited").code)
	require.JSONEq(t, `{"limits":{"gpue":2.5,"instances":null}}`, d.seen("updateAdminOrg")[0].body)
	code = http.StatusAccepted
	require.Equal(t, "saved; it will be in force shortly\n", p.run("", "orgs", "limits", orgID, "--ram-mib", "1024").err)
	require.Equal(t, 2, p.run("", "orgs", "limits", orgID, "--gpue", "many").code)
	require.Equal(t, 2, p.run("", "orgs", "limits", "--gpue", "1").code, "whose?")
}

func TestNodes(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	p := newPerson(t, d)
	d.on("GET /v1/admin/nodes", func(*http.Request, string) (int, any) {
		return http.StatusOK, inventoryapi.NodeList{Items: []inventoryapi.Node{node("a", inventoryapi.NodeStateReady)}}
	})
	d.on("PATCH /v1/admin/nodes/{id}", func(*http.Request, string) (int, any) {
		return http.StatusOK, node("a", inventoryapi.NodeStateReady)
	})
	d.on("POST /v1/admin/join-tokens", func(*http.Request, string) (int, any) {
		return http.StatusCreated, inventoryapi.JoinToken{ID: "tok_1", Pool: "default", Secret: ptr("wj_x"), CAPin: "sha256:00", Server: "https://h:8443",
			JoinCommand: ptr("weir-agent join --server https://h:8443 --token wj_x --ca-pin sha256:00"), ExpiresAt: at("2026-11-30T09:00:00Z")}
	})
	require.Equal(t, result{"", "cordoned a\n", 0}, p.run("", "nodes", "cordon", "a"))
	require.Equal(t, result{"", "uncordoned " + nodID + "\n", 0}, p.run("", "nodes", "uncordon", nodID))
	require.JSONEq(t, `{"cordoned":true}`, d.seen("updateNode")[0].body)
	require.JSONEq(t, `{"cordoned":false}`, d.seen("updateNode")[1].body)

	r := p.run("", "nodes", "token", "--pool", "default", "--name", "gpu-7", "--ttl", "10m")
	require.Equal(t, result{"weir-agent join --server https://h:8443 --token wj_x --ca-pin sha256:00\n", "good for one machine until 2026-11-30 09:00:00Z\n", 0}, r)
	require.JSONEq(t, `{"pool":"default","node_name":"gpu-7","ttl_seconds":600}`, d.seen("createJoinToken")[0].body)
	require.Equal(t, 2, p.run("", "nodes", "token", "--ttl", "2h").code)
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	p := newPerson(t, d)
	p.clock = fixed(at("2026-11-30T08:00:00Z"))
	d.on("POST /v1/api-keys", func(*http.Request, string) (int, any) {
		k := apiKey()
		var made tenantapi.APIKeyCreated
		raw, _ := json.Marshal(k)
		_ = json.Unmarshal(raw, &made)
		made.Secret = ptr("weir_d_secret")
		return http.StatusCreated, made
	})
	d.on("DELETE /v1/api-keys/{id}", func(*http.Request, string) (int, any) { return http.StatusNoContent, nil })
	r := p.run("", "api-keys", "create", "--name", "ci", "--expires-in", "24h")
	require.Equal(t, result{"weir_d_secret\n", "made " + keyID + " (ci), good until 2026-12-30 08:00:00Z; it is not shown again\n", 0}, r)
	require.JSONEq(t, `{"name":"ci","role":"developer","expires_at":"2026-12-01T08:00:00Z"}`, d.seen("createApiKey")[0].body)
	require.Equal(t, result{"", "revoked " + keyID + "\n", 0}, p.run("", "api-keys", "rm", keyID))
	for _, bad := range [][]string{{}, {"--name", "x", "--role", "god"}, {"--name", "x", "--expires-in", "-1h"}} {
		require.Equal(t, 2, p.run("", append([]string{"api-keys", "create"}, bad...)...).code, "%v", bad)
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	p := newPerson(t, newDeployment(t)) // which answers nothing: nothing is asked
	for _, args := range [][]string{
		{}, {"fly"}, {"instances"}, {"instances", "fly"}, {"instances", "show"}, {"instances", "show", "a", "b"}, {"instances", "rm"}, {"instances", "ls", "--state", "flying"},
		{"offerings", "--nope"}, {"offerings", "-o", "xml"}, {"offerings", "extra"}, {"usage", "--from", "yesterday"}, {"usage", "--granularity", "week"}, {"usage", "--group-by", "color"},
		{"run", "--", "true"}, {"run", "--offering", "x", "--count", "0"}, {"run", "--offering", "x", "--env", "novalue"}, {"run", "--offering", "x", "--label", "=v"},
		{"run", "--offering", "x", "--vcpus", "many"}, {"run", "--offering", "x", "--ram-mib", "0"}, {"run", "--offering", "x", "--rm", "--detach"}, {"login", "--password-stdin"}, {"login"},
		{"prices", "--url", "ftp://x"}, {"prices", "--url", "http://user@x"}, {"prices", "--url", "localhost:8080"},
	} {
		r := p.run("", args...)
		require.Equal(t, 2, r.code, "%v: %s", args, r.err)
		require.Empty(t, r.out, "%v", args)
		require.NotEmpty(t, r.err, "%v", args)
	}
	require.Zero(t, p.run("", "--help").code)
	require.Zero(t, p.run("", "run", "--help").code)
}

func TestRefusalsInWords(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	p := newPerson(t, d)
	var f *fault.Error
	d.on("GET /v1/offerings", func(*http.Request, string) (int, any) { return 0, f })
	for _, c := range []struct {
		fault *fault.Error
		code  int
		text  string
	}{
		{fault.New(fault.Unauthenticated, "The access token has expired."), 4, "weir: The access token has expired.\n  hint: log in with: weir login\n"},
		{fault.New(fault.Forbidden, "Your role viewer may not do this."), 4, "weir: Your role viewer may not do this.\n"},
		{fault.InvalidField("kind", "must be one of whole, mig, shared"), 2, "weir: kind must be one of whole, mig, shared\n"},
		{fault.New(fault.Internal, "Something went wrong on our side."), 1, "weir: Something went wrong on our side.\n"},
	} {
		f = c.fault
		require.Equal(t, result{"", c.text, c.code}, p.run("", "offerings"))
	}

	p.env["WEIR_URL"] = "http://127.0.0.1:1"
	r := p.run("", "offerings")
	require.Equal(t, 1, r.code)
	require.Equal(t, "weir: Nothing answers at http://127.0.0.1:1. Is it running? Another address: WEIR_URL or --url.\n", r.err)

	d.mux.HandleFunc("GET /v1/prices", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	p.env["WEIR_URL"] = d.URL
	require.Equal(t, "weir: the answer is not that of a Weir API: is the URL right?\n", p.run("", "prices").err)
}
