package allocator_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/agentapi"
	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/id"
)

func TestRentThroughTheDoors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := b.node(1)
	who := b.org("")

	var offers allocatorapi.OfferingList
	require.NoError(t, json.Unmarshal(b.get(who, "/v1/offerings").body, &offers))
	require.Len(t, offers.Items, 3, "what has no price is not offered")
	o := offers.Items[0]
	require.Equal(t, []any{slice, 7, "1.720000", "CNY", "hardware", json.Number("0.122415")}, []any{o.ID, o.Available, o.Price.PerHour, o.Price.Currency, string(o.Isolation), o.Gpue})

	i := b.rent(who, `{"name":"train","offering":"`+slice+`","vcpus":1.5,"ram_mib":2048,"image":"nvidia/cuda:12","command":["sleep","60"],"env":{"TOKEN":"hunter2"},"labels":{"team":"a"},"max_price_per_hour":"1.72"}`)
	require.Equal(t, []any{"assigned", slice, "1.720000", "on_demand", json.Number("1.5"), "node-a", n.GPUs[0].ID}, []any{string(i.State), i.Offering, i.Price.PerHour, string(i.Price.Term), i.Vcpus, i.Slices[0].NodeName, i.Slices[0].GPU})
	require.Equal(t, "1g.10gb", *i.Slices[0].Profile)
	require.Nil(t, i.CostSoFar)

	var d agentapi.Desired
	r := b.send(b.agent(n), http.MethodGet, "/agent/v1/desired?wait=5", "", nil)
	require.Equal(t, http.StatusOK, r.status)
	require.NoError(t, json.Unmarshal(r.body, &d))
	m := d.Members[0]
	require.Equal(t, []any{"run", []string{"sleep", "60"}, map[string]string{"TOKEN": "hunter2"}, int64(1500), n.GPUs[0].UUID}, []any{string(m.Action), m.Command, m.Env, m.VcpusMilli, m.Seats[0].GPUUUID})
	r = b.send(b.agent(n), http.MethodGet, fmt.Sprintf("/agent/v1/desired?incarnation=%s&generation=%d", d.Incarnation, d.Generation), "", nil)
	require.Equal(t, http.StatusNoContent, r.status)

	b.report(n, member(i, "running", ""))
	got := instance(t, b.get(who, "/v1/instances/"+i.ID), http.StatusOK)
	require.Equal(t, "running", string(got.State))
	require.NotNil(t, got.RunningAt)

	list := func(query string) (l allocatorapi.InstanceList) {
		r := b.get(who, "/v1/instances?"+query)
		require.Equal(t, http.StatusOK, r.status, "%s", r.body)
		require.NoError(t, json.Unmarshal(r.body, &l))
		return l
	}
	for query, want := range map[string]int{"": 1, "state=running": 1, "state=stopped": 0, "state=stopped&state=running": 1, "name=train": 1, "name=other": 0,
		"label=team%3Da": 1, "label=team%3Db": 0} {
		require.Len(t, list(query).Items, want, query)
	}
	second := b.rent(who, `{"name":"two","offering":"`+slice+`"}`)
	page := list("limit=1")
	require.Equal(t, second.ID, page.Items[0].ID, "the newest first")
	page = list("limit=1&cursor=" + *page.NextCursor)
	require.Equal(t, i.ID, page.Items[0].ID)
	require.Nil(t, page.NextCursor)

	stopped := instance(t, b.send(b.stack.As(who), http.MethodPost, "/v1/instances/"+i.ID+"/stop", "", nil), http.StatusAccepted)
	require.Equal(t, "stopping", string(stopped.State))
	require.Equal(t, []string{i.Slices[0].Member}, b.report(n, gone(i)).Acknowledged)
	deleted := instance(t, b.send(b.stack.As(who), http.MethodDelete, "/v1/instances/"+i.ID, "", nil), http.StatusAccepted)
	require.NotNil(t, deleted.DeletedAt)
	got = instance(t, b.get(who, "/v1/instances/"+i.ID), http.StatusOK)
	require.Equal(t, "stopped", string(got.State))
	require.Len(t, got.Slices, 1, "the last seats stay visible")
	require.Len(t, list("").Items, 1)
	require.Len(t, list("deleted=true").Items, 2)

	var events allocatorapi.InstanceEventList
	require.NoError(t, json.Unmarshal(b.get(who, "/v1/instances/"+i.ID+"/events").body, &events))
	var states []string
	for _, e := range events.Items {
		states = append(states, string(e.State)+"/"+string(e.Actor.Kind))
	}
	require.Equal(t, []string{"assigned/user", "running/node", "stopping/user", "stopped/node"}, states)
	require.NotNil(t, events.Items[1].BillableFrom)
	require.NotNil(t, events.Items[2].BillableUntil)

	r = b.send(b.stack.As(who), http.MethodGet, "/internal/v1/limit-usage", "", nil)
	require.JSONEq(t, fmt.Sprintf(`{"org":%q,"gpue":0.122415,"instances":1,"queued_instances":0,"vcpus":16,"ram_mib":131072}`, who.Org), string(r.body))
}

func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node(1)
	who := b.org("")
	i := b.rent(who, `{"name":"a","offering":"`+slice+`","env":{"TOKEN":"canary-7351"}}`)
	operator := actor.Actor{Kind: actor.User, ID: "usr_op", Operator: true}
	for _, r := range []answer{b.get(who, "/v1/instances/"+i.ID), b.get(who, "/v1/instances"), b.get(who, "/v1/instances/"+i.ID+"/events"),
		b.get(operator, "/v1/admin/instances"), b.get(operator, "/v1/admin/snapshot")} {
		require.Equal(t, http.StatusOK, r.status, "%s", r.body)
		require.NotContains(t, string(r.body), "canary")
	}
	dump := b.dump()
	require.Contains(t, dump, i.ID)
	require.NotContains(t, dump, "canary-7351")
}

func TestBadBodiesChangeNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node(2)
	who := b.org("")
	offering := `"name":"a","offering":"` + slice + `"`
	for body, field := range map[string]string{
		``:                                 "body",
		`{`:                                "body",
		`[]`:                               "body",
		`{"name":"a"}`:                     "offering",
		`{"name":""}`:                      "name",
		`{"name":"\u0007","offering":"x"}`: "name",
		`{` + offering + `,"offerings":["` + slice + `"]}`:                        "offerings",
		`{"name":"a","offerings":[]}`:                                             "offerings",
		`{"name":"a","offerings":["nope"]}`:                                       "offerings[0]",
		`{"name":"a","offerings":["` + slice + `","` + slice + `"]}`:              "offerings[1]",
		`{` + offering + `,"org":"org_x"}`:                                        "org",
		`{` + offering + `,"state":"running"}`:                                    "state",
		`{` + offering + `,"count":0}`:                                            "count",
		`{` + offering + `,"count":9}`:                                            "count",
		`{` + offering + `,"count":1.5}`:                                          "count",
		`{` + offering + `,"count":2}`:                                            "count",
		`{` + offering + `,"count":"1"}`:                                          "count",
		`{` + offering + `,"vcpus":-1}`:                                           "vcpus",
		`{` + offering + `,"vcpus":0.0001}`:                                       "vcpus",
		`{` + offering + `,"vcpus":1.0001}`:                                       "vcpus",
		`{` + offering + `,"vcpus":1e300}`:                                        "vcpus",
		`{` + offering + `,"vcpus":"2"}`:                                          "vcpus",
		`{` + offering + `,"ram_mib":99999999999999999999}`:                       "ram_mib",
		`{` + offering + `,"ram_mib":0}`:                                          "ram_mib",
		`{` + offering + `,"wait":true}`:                                          "wait",
		`{` + offering + `,"term":"monthly"}`:                                     "term",
		`{` + offering + `,"term":"forever"}`:                                     "term",
		`{` + offering + `,"share":500}`:                                          "share",
		`{` + offering + `,"nodes":2}`:                                            "nodes",
		`{` + offering + `,"disk_gib":10}`:                                        "disk_gib",
		`{` + offering + `,"queue":"q"}`:                                          "queue",
		`{` + offering + `,"priority":1}`:                                         "priority",
		`{` + offering + `,"preemptible":true}`:                                   "preemptible",
		`{` + offering + `,"template":"t"}`:                                       "template",
		`{` + offering + `,"auto_stop":{"idle_minutes":5}}`:                       "auto_stop",
		`{` + offering + `,"max_duration":60}`:                                    "max_duration",
		`{` + offering + `,"auto_renew":true}`:                                    "auto_renew",
		`{` + offering + `,"accept_isolation":"shared"}`:                          "accept_isolation",
		`{` + offering + `,"ports":[{"port":80}]}`:                                "ports",
		`{` + offering + `,"ssh_public_keys":["ssh-rsa x"]}`:                      "ssh_public_keys",
		`{` + offering + `,"constraints":{"zone":"z"}}`:                           "constraints.zone",
		`{` + offering + `,"max_price_per_hour":"NaN"}`:                           "max_price_per_hour",
		`{` + offering + `,"max_price_per_hour":1.5}`:                             "max_price_per_hour",
		`{` + offering + `,"max_price_per_hour":{"amount":"9","currency":"USD"}}`: "max_price_per_hour",
		`{` + offering + `,"env":{"A B":"x"}}`:                                    "env",
		`{` + offering + `,"env":{"CUDA_VISIBLE_DEVICES":"0"}}`:                   "env.CUDA_VISIBLE_DEVICES",
		`{` + offering + `,"labels":{"":"x"}}`:                                    "labels",
		`{` + offering + `,"image":"127.0.0.1:5000/x"}`:                           "image",
		`{` + offering + `,"image":"registry.internal/x"}`:                        "image",
		`{` + offering + `,"project":"prj_1"}`:                                    "project",
	} {
		r := b.create(who, body)
		require.Equal(t, http.StatusUnprocessableEntity, r.status, "%s\n%s", body, r.body)
		var p struct {
			Code   string
			Errors []struct{ Field, Message string }
		}
		require.NoError(t, json.Unmarshal(r.body, &p))
		require.Equal(t, "invalid", p.Code)
		require.NotEmpty(t, p.Errors, body)
		require.Equal(t, field, p.Errors[0].Field, "%s\n%s", body, r.body)
	}
	r := b.send(b.stack.As(who), http.MethodPost, "/v1/instances", `{`+offering+`}`, nil)
	require.Equal(t, http.StatusUnprocessableEntity, r.status, "no key")
	require.Contains(t, string(r.body), "Idempotency-Key")
	r = b.create(who, `{`+offering+`,"command":["`+strings.Repeat("x", 1<<20)+`"]}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, r.status)

	var l allocatorapi.InstanceList
	require.NoError(t, json.Unmarshal(b.get(who, "/v1/instances").body, &l))
	require.Empty(t, l.Items, "nothing half done")

	// What says no more than the default is fine.
	b.rent(who, `{`+offering+`,"wait":false,"term":"on_demand","nodes":1,"count":1,"project":null,"labels":null,"env":null,"auto_stop":null,"constraints":null,"max_price_per_hour":null,"disk_gib":0,"ports":[]}`)
}

func TestReplaysOverTheDoor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node(1)
	who, k := b.org(""), key()
	body := `{"name":"a","offering":"` + slice + `"}`
	first := b.send(b.stack.As(who), http.MethodPost, "/v1/instances", body, k)
	again := b.send(b.stack.As(who), http.MethodPost, "/v1/instances", body, k)
	require.Equal(t, http.StatusCreated, again.status)
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	require.JSONEq(t, string(first.body), string(again.body))
	other := b.send(b.stack.As(who), http.MethodPost, "/v1/instances", `{"name":"b","offering":"`+slice+`"}`, k)
	require.Equal(t, http.StatusConflict, other.status)
	require.Equal(t, "idempotency_mismatch", other.code(t))
}

// paperclipai/paperclip#3967: foreign and random ids answer alike, in every operation.
func TestForeignAndRandomIdsAreAlike(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node(1)
	i := b.rent(b.org(""), `{"name":"a","offering":"`+slice+`"}`)
	stranger := b.org("")
	body := func(method, path string) string {
		r := b.send(b.stack.As(stranger), method, path, "", nil)
		require.Equal(t, http.StatusNotFound, r.status, "%s %s: %s", method, path, r.body)
		var p map[string]any
		require.NoError(t, json.Unmarshal(r.body, &p))
		delete(p, "request_id")
		raw, err := json.Marshal(p)
		require.NoError(t, err)
		return string(raw)
	}
	for _, op := range []struct{ method, suffix string }{{"GET", ""}, {"DELETE", ""}, {"POST", "/stop"}, {"GET", "/events"}} {
		want := body(op.method, "/v1/instances/ins_00000000000000000000000000"+op.suffix)
		for _, other := range []string{i.ID, "nonsense", "ins_%27%3B--", strings.ToLower(i.ID)} {
			require.Equal(t, want, body(op.method, "/v1/instances/"+other+op.suffix))
		}
	}
	require.Equal(t, "assigned", string(instance(t, b.get(actor.Actor{Kind: actor.User, ID: "u", Org: b.orgOf(i), Role: actor.Viewer}, "/v1/instances/"+i.ID), http.StatusOK).State))
}

func TestKeysBoundToAProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node(1)
	owner := b.org("")
	mine, other := id.New(id.Project, clockNow()), id.New(id.Project, clockNow())
	bound := actor.Actor{Kind: actor.APIKey, ID: "key_1", Org: owner.Org, Role: actor.Developer, Project: mine}
	i := b.rent(bound, `{"name":"a","offering":"`+slice+`"}`)
	require.Equal(t, mine, *i.Project)
	require.Equal(t, http.StatusUnprocessableEntity, b.create(bound, `{"name":"a","offering":"`+slice+`","project":"`+other+`"}`).status)
	foreign := bound
	foreign.Project = other
	for _, path := range []string{"/v1/instances/" + i.ID, "/v1/instances/" + i.ID + "/events"} {
		require.Equal(t, http.StatusNotFound, b.get(foreign, path).status)
		require.Equal(t, http.StatusOK, b.get(bound, path).status)
		require.Equal(t, http.StatusOK, b.get(owner, path).status)
	}
	require.Equal(t, http.StatusNotFound, b.send(b.stack.As(foreign), http.MethodPost, "/v1/instances/"+i.ID+"/stop", "", nil).status)
	require.NotContains(t, string(b.get(foreign, "/v1/instances").body), i.ID)
}

func TestRolesAndStrangers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := b.node(1)
	who := b.org("")
	viewer := who
	viewer.Role = actor.Viewer
	require.Equal(t, http.StatusForbidden, b.create(viewer, `{"name":"a","offering":"`+slice+`"}`).status)
	require.Equal(t, http.StatusUnauthorized, b.create(actor.Actor{}, `{"name":"a","offering":"`+slice+`"}`).status)
	require.Equal(t, http.StatusForbidden, b.get(who, "/v1/admin/snapshot").status)
	require.Equal(t, http.StatusForbidden, b.send(b.stack.As(who), http.MethodPost, "/agent/v1/reports", `{"boot_id":"b","seq":1,"full":true,"members":[]}`, nil).status)
	require.Equal(t, http.StatusForbidden, b.send(b.agent(n), http.MethodGet, "/v1/instances", "", nil).status)
	require.Equal(t, http.StatusForbidden, b.send(b.stack.AsService("sim"), http.MethodPost, "/internal/v1/feeds/sync", `{"feed":"orgs"}`, nil).status)
	require.Equal(t, http.StatusForbidden, b.send(b.stack.AsService("sim"), http.MethodGet, "/internal/v1/feed?name=instances", "", nil).status)
}

func TestOperatorsSeeAndStopEverything(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := b.node(1)
	a, c := b.org(""), b.org("")
	i := b.rent(a, `{"name":"a","offering":"`+slice+`"}`)
	b.rent(c, `{"name":"c","offering":"`+slice+`"}`)
	operator := actor.Actor{Kind: actor.User, ID: "usr_op", Operator: true}
	var l allocatorapi.AdminInstanceList
	require.NoError(t, json.Unmarshal(b.get(operator, "/v1/admin/instances").body, &l))
	require.Len(t, l.Items, 2)
	require.NoError(t, json.Unmarshal(b.get(operator, "/v1/admin/instances?org="+a.Org+"&node="+n.ID).body, &l))
	require.Len(t, l.Items, 1)
	require.Equal(t, a.Org, l.Items[0].Org)

	r := b.send(b.stack.As(operator), http.MethodPost, "/v1/admin/instances/"+i.ID+"/stop", `{"reason":"abuse"}`, nil)
	require.Equal(t, http.StatusAccepted, r.status, "%s", r.body)
	got := instance(t, b.get(a, "/v1/instances/"+i.ID), http.StatusOK)
	require.Equal(t, []any{"stopping", "operator", "abuse"}, []any{string(got.State), *got.StateReason, *got.StateDetail})
	r = b.send(b.stack.As(operator), http.MethodPost, "/v1/admin/instances/"+i.ID+"/fence", `{"reason":"off"}`, key())
	require.Equal(t, http.StatusConflict, r.status)
	require.Equal(t, "conflict", r.code(t))

	var s allocatorapi.Snapshot
	require.NoError(t, json.Unmarshal(b.get(operator, "/v1/admin/snapshot").body, &s))
	require.Empty(t, s.Violations)
	require.Len(t, s.Pool["seats"], 2)
}

func TestLimitsAreKnownBeforeTheyAreUsed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node(1)
	who := b.org(`,"instances":1`)
	b.rent(who, `{"name":"a","offering":"`+slice+`"}`)
	r := b.create(who, `{"name":"b","offering":"`+slice+`"}`)
	require.Equal(t, http.StatusConflict, r.status)
	var p map[string]any
	require.NoError(t, json.Unmarshal(r.body, &p))
	require.Equal(t, []any{"quota_exceeded", "instances", "org", 1.0, 1.0, 1.0}, []any{p["code"], p["resource"], p["scope"], p["limit"], p["used"], p["requested"]})

	unknown := actor.Actor{Kind: actor.User, ID: "usr_1", Org: id.New(id.Org, clockNow()), Role: actor.Owner}
	r = b.create(unknown, `{"name":"a","offering":"`+slice+`"}`)
	require.Equal(t, http.StatusServiceUnavailable, r.status, "nobody has published its limits")
	require.NotEmpty(t, r.header.Get("Retry-After"))
}

// Two orgs in one batch; each then sees its own rows and no others.
func TestTwoOrgsUnderRowLevelSecurity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node(2)
	a, c := b.org(""), b.org("")
	done := make(chan answer, 8)
	for n := range 8 {
		who := a
		if n%2 == 1 {
			who = c
		}
		go func() { done <- b.create(who, `{"name":"x","offering":"`+slice+`"}`) }()
	}
	for range 8 {
		require.Equal(t, http.StatusCreated, (<-done).status)
	}
	for _, who := range []actor.Actor{a, c} {
		var l allocatorapi.InstanceList
		require.NoError(t, json.Unmarshal(b.get(who, "/v1/instances").body, &l))
		require.Len(t, l.Items, 4)
	}
	b.rowsOf(a.Org, 4)
}

func TestInstancesFeedTellsTheMeter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := b.node(1)
	i := b.rent(b.org(""), `{"name":"a","offering":"`+slice+`"}`)
	b.report(n, member(i, "running", ""))
	b.report(n, gone(i))
	read := func(path string) (items []map[string]any, beats int) {
		r := b.send(b.stack.AsService("metering"), http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusOK, r.status, "%s", r.body)
		var a struct {
			Items []struct{ Data map[string]any }
		}
		require.NoError(t, json.Unmarshal(r.body, &a))
		for _, it := range a.Items {
			if it.Data["kind"] == "heartbeat" {
				beats++
				continue
			}
			items = append(items, it.Data)
		}
		return items, beats
	}
	items, beats := read("/internal/v1/feed?name=instances&sync=1")
	require.NotZero(t, beats)
	var states []any
	for _, it := range items {
		require.Equal(t, []any{i.ID, i.Slices[0].Member, slice, "prc_" + slice, 1_720_000.0, "CNY", 122_415.0, 1.0},
			[]any{it["instance"], it["member"], it["offering"], it["price_version"], it["per_hour_micro"], it["currency"], it["gpue_micro"], it["cards"]})
		states = append(states, it["state"], it["billable_from"] != nil, it["billable_until"] != nil, it["ended"])
	}
	require.Equal(t, []any{"assigned", false, false, false, "running", true, false, false, "stopped", false, true, true}, states)
	listed, _ := read("/internal/v1/feed/list?name=instances")
	require.Equal(t, items[1:], listed, "what bills, and where it stands")
}
