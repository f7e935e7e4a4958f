package command

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/api/gatewayapi"
	"github.com/weirhq/weir/pkg/api/inventoryapi"
	"github.com/weirhq/weir/pkg/api/meteringapi"
	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
)

// reader is a deployment that answers every question.
func reader(t *testing.T) (*deployment, *person) {
	d := newDeployment(t)
	say := func(v any) func(*http.Request, string) (int, any) {
		return func(*http.Request, string) (int, any) { return http.StatusOK, v }
	}
	d.on("GET /v1/offerings", say(offeringList()))
	d.on("GET /v1/instances", func(r *http.Request, _ string) (int, any) {
		second := instance(allocatorapi.Stopped)
		second.ID, second.Name, second.ExitCode, second.StateReason = "ins_01J9Z3N8Q4T5V6W7X8Y9Z0A1B3", "训练-1", ptr(0), ptr("completed")
		if name := r.URL.Query().Get("name"); name != "" && name != "greeter" {
			return http.StatusOK, allocatorapi.InstanceList{Items: []allocatorapi.Instance{}}
		}
		if r.URL.Query().Get("cursor") == "" && r.URL.Query().Get("name") == "" { // two pages
			return http.StatusOK, allocatorapi.InstanceList{Items: []allocatorapi.Instance{instance(allocatorapi.Running)}, NextCursor: ptr("more")}
		}
		return http.StatusOK, allocatorapi.InstanceList{Items: []allocatorapi.Instance{second}}
	})
	d.on("GET /v1/instances/{id}", func(r *http.Request, _ string) (int, any) {
		if r.PathValue("id") != insID && r.PathValue("id") != "ins_01J9Z3N8Q4T5V6W7X8Y9Z0A1B3" {
			return 0, fault.New(fault.NotFound, "There is no such instance.")
		}
		return http.StatusOK, instance(allocatorapi.Running)
	})
	d.on("GET /v1/instances/{id}/events", say(allocatorapi.InstanceEventList{Items: []allocatorapi.InstanceEvent{
		event("2026-11-30T08:00:00Z", allocatorapi.Assigned, "user", userID), event("2026-11-30T08:00:01.500Z", allocatorapi.Running, "node", nodID),
	}}))
	d.on("GET /v1/usage", say(meteringapi.UsageList{Items: usageRows()}))
	d.on("GET /v1/prices", say(priceList()))
	d.on("GET /v1/limits", say(gatewayapi.LimitList{Items: []gatewayapi.Limit{
		{Resource: "gpue", Scope: "org", Used: "0.122414", Limit: ptr(json.Number("8"))}, {Resource: "instances", Scope: "org", Used: "1"},
	}}))
	d.on("GET /v1/admin/orgs", say(tenantapi.AdminOrgList{Items: []tenantapi.AdminOrg{adminOrg()}}))
	d.on("GET /v1/admin/orgs/{id}", say(adminOrg()))
	d.on("GET /v1/api-keys", say(tenantapi.APIKeyList{Items: []tenantapi.APIKey{apiKey()}}))
	cordoned := node("sim-a100-1", inventoryapi.NodeStateNotReady)
	cordoned.Cordoned, cordoned.StateReason = true, ptr("silent")
	d.on("GET /v1/admin/nodes", say(inventoryapi.NodeList{Items: []inventoryapi.Node{node("sim-h100-1", inventoryapi.NodeStateReady), cordoned, node("gone", inventoryapi.NodeStateRetired)}}))
	d.on("GET /v1/admin/gpus", say(inventoryapi.GPUList{Items: []inventoryapi.GPU{
		gpu(0, inventoryapi.Slice{Start: 2, Size: 1, Kind: "mig", Profile: ptr("1g.10gb"), Instance: ptr(insID)}, inventoryapi.Slice{Start: 4, Size: 4, Kind: "mig", Profile: ptr("3g.40gb"), Foreign: true}),
		gpu(1),
	}}))
	return d, newPerson(t, d)
}

func event(when string, state allocatorapi.InstanceState, kind allocatorapi.InstanceEventActorKind, who string) allocatorapi.InstanceEvent {
	e := allocatorapi.InstanceEvent{ID: "evt_1", At: at(when), Member: ptr("mem_01J9Z3N8Q4T5V6W7X8Y9Z0A1B2"), State: state}
	e.Actor.Kind, e.Actor.ID = kind, who
	if state == allocatorapi.Running {
		e.BillableFrom = &e.At
	}
	return e
}

func TestReadVerbs(t *testing.T) {
	t.Parallel()
	_, p := reader(t)
	for name, args := range map[string][]string{
		"offerings":           {"offerings"},
		"offerings.json":      {"offerings", "-o", "json"},
		"instances-ls":        {"instances", "ls"},
		"instances-ls.json":   {"instances", "ls", "-o", "json"},
		"instances-ls.yaml":   {"instances", "ls", "-o", "yaml"},
		"instances-show":      {"instances", "show", insID},
		"instances-show.yaml": {"instances", "show", insID, "-o", "yaml"},
		"instances-events":    {"instances", "events", insID},
		"usage":               {"usage"},
		"usage.json":          {"usage", "-o", "json"},
		"prices":              {"prices"},
		"prices.yaml":         {"prices", "-o", "yaml"},
		"orgs-ls":             {"orgs", "ls"},
		"orgs-limits":         {"orgs", "limits"},
		"orgs-limits-of":      {"orgs", "limits", orgID},
		"orgs-limits-of.json": {"orgs", "limits", orgID, "-o", "json"},
		"api-keys-ls":         {"api-keys", "ls"},
		"nodes-ls":            {"nodes", "ls"},
		"nodes-ls-retired":    {"nodes", "ls", "--retired"},
		"nodes-gpus":          {"nodes", "gpus"},
	} {
		t.Run(name, func(t *testing.T) {
			q := *p
			q.t = t
			q.errOut = &buffer{}
			q.golden(name, args...)
		})
	}
}

func TestQuestionsAreAskedAsMeant(t *testing.T) {
	t.Parallel()
	d, p := reader(t)
	p.clock = fixed(at("2026-11-30T12:00:00Z"))
	for _, args := range [][]string{
		{"usage", "--from", "2026-11-01", "--to", "2026-11-30T08:00:00+08:00", "--granularity", "month", "--group-by", "project,offering"},
		{"usage", "--from", "24h", "--group-by", "none", "--granularity", "hour"},
		{"instances", "ls", "--state", "running,stopping", "--label", "a=b", "--label", "c=d,e", "--name", "x", "--deleted"},
		{"offerings", "--gpu-model", "h100-80gb", "--kind", "mig"},
		{"prices", "--offering", "h100-80gb.whole", "--currency", "USD"},
		{"nodes", "gpus", nodID},
		{"nodes", "gpus", "sim-h100-1"},
	} {
		require.Zero(t, p.run("", args...).code, "%v", args)
	}
	usage := d.seen("listUsage")
	require.Equal(t, "from=2026-11-01T00%3A00%3A00Z&granularity=month&group_by=project,offering&limit=200&to=2026-11-30T00%3A00%3A00Z", sorted(usage[0].query))
	require.Equal(t, "from=2026-11-29T12%3A00%3A00Z&granularity=hour&limit=200", sorted(usage[1].query))
	require.Equal(t, "deleted=true&label=a%3Db&label=c%3Dd%2Ce&limit=200&name=x&state=running&state=stopping", sorted(d.seen("listInstances")[0].query))
	require.Equal(t, "gpu_model=h100-80gb&kind=mig&limit=200", sorted(d.seen("listOfferings")[0].query))
	require.Equal(t, "currency=USD&limit=200&offering=h100-80gb.whole", sorted(d.seen("listPrices")[0].query))
	require.Equal(t, "limit=200&node="+nodID, sorted(d.seen("listGPUs")[0].query))
	require.Equal(t, "Bearer weir_d_test", usage[0].auth)
}

func TestThingsAreFoundByName(t *testing.T) {
	t.Parallel()
	d, p := reader(t)
	require.Zero(t, p.run("", "instances", "show", "greeter").code)
	require.Equal(t, "/v1/instances/ins_01J9Z3N8Q4T5V6W7X8Y9Z0A1B3", d.seen("getInstance")[0].path)
	r := p.run("", "instances", "show", "nobody")
	require.Equal(t, 3, r.code)
	require.Empty(t, r.out)
	require.Equal(t, "weir: There is no instance called nobody.\n", r.err)
	require.Equal(t, 3, p.run("", "instances", "show", "ins_00000000000000000000000000").code)
}
