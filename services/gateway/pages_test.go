package gateway_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInstancesShowTheirCost(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.costs["ins_1"] = "3.140000"

	list := w.call("GET", "/v1/instances", "owner", "").json(t)
	items := list["items"].([]any)
	require.Equal(t, object{"amount": "3.140000", "currency": "CNY"}, items[0].(object)["cost_so_far"])
	require.Nil(t, items[1].(object)["cost_so_far"], "the meter does not know it yet")
	require.Contains(t, list, "next_cursor")

	one := w.call("GET", "/v1/instances/ins_1", "owner", "")
	require.Equal(t, object{"amount": "3.140000", "currency": "CNY"}, one.json(t)["cost_so_far"])
	require.Equal(t, "n<1>", one.json(t)["name"])
	require.Contains(t, one.text, `"vcpus":0.125`, "no number is touched")

	made := w.call("POST", "/v1/instances", "owner", "{}", "Idempotency-Key", "k").json(t)
	require.Equal(t, object{"amount": "0.000000", "currency": "CNY"}, made["cost_so_far"], "a new one has cost nothing")

	resp := w.call("GET", "/v1/instances/ins_404", "owner", "")
	require.Equal(t, 404, resp.StatusCode)
	require.Equal(t, resp.Header.Get("X-Request-Id"), w.last().header.Get("X-Request-Id"))

	w.mu.Lock()
	w.noCosts = true
	w.mu.Unlock()
	resp = w.call("GET", "/v1/instances/ins_1", "owner", "")
	require.Equal(t, 200, resp.StatusCode)
	require.Contains(t, resp.json(t), "cost_so_far")
	require.Nil(t, resp.json(t)["cost_so_far"], "better without than not at all")
}

func TestLimitsAndTheirUse(t *testing.T) {
	t.Parallel()
	w := setup(t)
	got := w.call("GET", "/v1/limits", "key", "").json(t)
	require.Equal(t, object{"next_cursor": nil, "items": []any{
		object{"resource": "gpue", "scope": "org", "limit": 7.5, "used": 0.142857},
		object{"resource": "instances", "scope": "org", "limit": 20.0, "used": 1.0},
		object{"resource": "queued_instances", "scope": "org", "limit": nil, "used": 0.0},
		object{"resource": "vcpus", "scope": "org", "limit": nil, "used": 4.0},
		object{"resource": "ram_mib", "scope": "org", "limit": 1024.0, "used": 512.0},
	}}, got)
	require.Equal(t, "invalid", w.call("GET", "/v1/limits?x=1", "key", "").json(t)["code"])
}
