package inventory_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
)

type list struct {
	Items      []object
	NextCursor *string `json:"next_cursor"`
}

func TestJoinTokenIsShownOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := object{"node_name": "n1", "ttl_seconds": 60}
	got := do[object](b, 201, operator, "POST", "/v1/admin/join-tokens", body, "Idempotency-Key", "k1")
	secret := got["secret"].(string)
	require.Regexp(t, "^wj_", secret)
	require.Equal(t, "2026-03-01T12:01:00Z", got["expires_at"])
	require.Equal(t, agentURL, got["server"])
	require.Equal(t, fmt.Sprintf("weir-agent join --server %s --token %s --ca-pin %s --node-name n1", agentURL, secret, got["ca_pin"]), got["join_command"])

	again, err := b.send(operator, "POST", "/v1/admin/join-tokens", body, "Idempotency-Key", "k1")
	require.NoError(t, err)
	require.Equal(t, 201, again.Status)
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	var replay object
	require.NoError(t, json.Unmarshal(again.Body, &replay))
	require.Equal(t, with(got, "secret", nil, "join_command", nil), replay)

	require.Equal(t, "idempotency_mismatch", do[problem](b, 409, operator, "POST", "/v1/admin/join-tokens", object{}, "Idempotency-Key", "k1").Code)
	require.Equal(t, 1, b.count(`SELECT count(*) FROM join_token`))
	for _, table := range []string{"join_token", "idempotency", "outbox"} {
		require.Zero(t, b.count(`SELECT count(*) FROM `+table+` x WHERE x::text LIKE '%' || ? || '%'`, secret), table)
	}
}

func TestBadJoinTokenRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for field, body := range map[string]object{
		"ttl_seconds": {"ttl_seconds": 3601}, "node_name": {"node_name": "UPPER CASE"}, "pool": {"pool": "nowhere"}, "unknown": {"unknown": 1},
	} {
		p := do[problem](b, 422, operator, "POST", "/v1/admin/join-tokens", body, "Idempotency-Key", "k"+field)
		require.Equal(t, field, p.Errors[0].Field)
	}
	require.Equal(t, "Idempotency-Key", do[problem](b, 422, operator, "POST", "/v1/admin/join-tokens", object{}).Errors[0].Field)
	require.Zero(t, b.count(`SELECT count(*) FROM join_token`))
	require.Zero(t, b.count(`SELECT count(*) FROM idempotency`), "refusals are not remembered")
}

// Requests run as a role that cannot see a token, a certificate or an old boot, nor change
// anything: a handler that forgot its way would be refused by the database.
func TestRequestsSeeNoSecrets(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, "inventory")
	api := pgtest.Open(t, db, "inventory", pg.API, 1)
	for _, sql := range []string{
		`SELECT count(*) FROM join_token`, `SELECT count(*) FROM certificate`, `SELECT count(*) FROM node_boot`,
		`UPDATE node SET cordoned = true`, `DELETE FROM gpu`, `INSERT INTO pool SELECT * FROM pool`,
	} {
		err := api.InTx(t.Context(), pg.Scope{Operator: true}, func(tx *pg.Tx) error { return tx.Exec(sql).Error })
		require.ErrorContains(t, err, "permission denied", sql)
	}
}

func TestListsAreWalkedPageByPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ids []string
	for i := range 5 {
		b.clk.Advance(time.Millisecond) // ids sort by it
		id := b.enroll(fmt.Sprintf("n%d", i)).Node
		ids = append(ids, id)
		if i < 3 {
			b.report(id, status("b", 1, card(1, fmt.Sprintf("GPU-%d-1", i), "l4-24gb"), card(0, fmt.Sprintf("GPU-%d-0", i), "h100-80gb-sxm5")))
		}
	}
	walk := func(path string) (names []string) {
		cursor := ""
		for {
			l := do[list](b, 200, operator, "GET", path+cursor, nil)
			require.LessOrEqual(t, len(l.Items), 2)
			for _, it := range l.Items {
				names = append(names, fmt.Sprint(it["id"], it["uuid"]))
			}
			if l.NextCursor == nil {
				return names
			}
			cursor = "&cursor=" + *l.NextCursor
		}
	}
	all := walk("/v1/admin/nodes?limit=2")
	require.Len(t, all, 5)
	for i, id := range ids {
		require.Contains(t, all[i], id)
	}
	require.Len(t, walk("/v1/admin/nodes?limit=2&state=ready"), 3)
	require.Len(t, walk("/v1/admin/nodes?limit=2&name=n4"), 1)
	require.Empty(t, walk("/v1/admin/nodes?limit=2&state=draining"))
	require.Empty(t, walk("/v1/admin/nodes?limit=2&pool=other"))
	gpus := walk("/v1/admin/gpus?limit=2")
	require.Len(t, gpus, 6)
	require.Contains(t, gpus[0], "GPU-0-0")
	require.Contains(t, gpus[5], "GPU-2-1")
	require.Len(t, walk("/v1/admin/gpus?limit=2&model=h100-80gb"), 3)
	require.Len(t, walk("/v1/admin/gpus?limit=2&node="+ids[1]), 2)
	require.Empty(t, walk("/v1/admin/gpus?limit=2&state=lost"))

	require.Equal(t, "cursor", do[problem](b, 422, operator, "GET", "/v1/admin/nodes?cursor=junk", nil).Errors[0].Field)
	require.Equal(t, "limit", do[problem](b, 422, operator, "GET", "/v1/admin/gpus?limit=201", nil).Errors[0].Field)
	require.Equal(t, "state", do[problem](b, 422, operator, "GET", "/v1/admin/nodes?state=lost", nil).Errors[0].Field)

	pools := do[list](b, 200, operator, "GET", "/v1/admin/pools", nil)
	require.Len(t, pools.Items, 1)
	require.Equal(t, "default", pools.Items[0]["name"])
	require.Nil(t, pools.NextCursor)
}

func TestUpdateNode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.enroll("n1").Node
	b.report(id, status("b", 1, card(0, "GPU-0", "l4-24gb")))
	path := "/v1/admin/nodes/" + id
	read, err := b.send(operator, "GET", path, nil)
	require.NoError(t, err)
	etag := read.Header.Get("ETag")
	require.Equal(t, `"2"`, etag)

	got := do[object](b, 200, operator, "PATCH", path, object{"cordoned": true, "rack": "r1", "labels": object{"a": "b"}}, "If-Match", etag)
	require.Equal(t, true, got["cordoned"])
	require.Equal(t, "r1", got["rack"])
	require.Equal(t, object{"a": "b"}, got["labels"])
	require.EqualValues(t, 192, got["vcpus"])
	require.True(t, b.last(id, 3).Cordoned)
	require.Equal(t, "stale", do[problem](b, 412, operator, "PATCH", path, object{"cordoned": false}, "If-Match", etag).Code)
	do[object](b, 200, operator, "PATCH", path, object{"cordoned": true}) // nothing new
	b.last(id, 3)
	got = do[object](b, 200, operator, "PATCH", path, object{"rack": "", "labels": object{}})
	require.Nil(t, got["rack"])
	require.Equal(t, true, got["cordoned"], "an absent field stays")
	b.last(id, 4)

	for _, body := range []object{{}, {"name": "x"}, {"state": "ready"}, {"version": 1}, {"labels": object{"": "x"}}, {"cordoned": "yes"}} {
		do[problem](b, 422, operator, "PATCH", path, body)
	}
	for _, other := range []string{"nod_00000000000000000000000001", "nonsense", "%00"} {
		for _, method := range []string{"GET", "PATCH", "DELETE"} {
			var body any
			if method == "PATCH" {
				body = object{"cordoned": true}
			}
			require.Equal(t, "not_found", do[problem](b, 404, operator, method, "/v1/admin/nodes/"+other, body).Code)
		}
	}
}

func TestUpdateGPU(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.enroll("n1").Node
	b.report(id, status("b", 1, card(0, "GPU-0", "h100-80gb-sxm5")))
	path := "/v1/admin/gpus/" + b.gpus(id)[0]["id"].(string)
	require.Equal(t, "7g.80gb", do[object](b, 200, operator, "GET", path, nil)["largest_free_profile"])
	got := do[object](b, 200, operator, "PATCH", path, object{"policy": "whole", "cordoned": true}, "If-Match", `"1"`)
	require.Equal(t, "whole", got["policy"])
	require.Nil(t, got["largest_free_profile"])
	it := b.last(id, 3)
	require.Equal(t, "whole", it.GPUs[0].Policy)
	require.True(t, it.GPUs[0].Cordoned)
	require.Equal(t, "stale", do[problem](b, 412, operator, "PATCH", path, object{"policy": "mig"}, "If-Match", `"1"`).Code)
	require.Equal(t, "policy", do[problem](b, 422, operator, "PATCH", path, object{"policy": "shared"}).Errors[0].Field)
	for _, other := range []string{"gpu_00000000000000000000000001", "nonsense"} {
		do[problem](b, 404, operator, "GET", "/v1/admin/gpus/"+other, nil)
		do[problem](b, 404, operator, "PATCH", "/v1/admin/gpus/"+other, object{"cordoned": true})
	}

	b.report(id, status("b", 2, card(0, "GPU-0", "h100-80gb-sxm5")))
	require.Equal(t, "whole", b.gpus(id)[0]["policy"], "a status does not undo it")
}

func TestRetire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.enroll("n1")
	path := "/v1/admin/nodes/" + e.Node
	busy := with(card(0, "GPU-0", "a100-40gb"), "layout", []object{{"start": 0, "size": 1, "profile": "1g.5gb", "device_uuid": "MIG-1", "foreign": false, "member": "mem_1"}})
	b.report(e.Node, status("b", 1, busy))
	require.Contains(t, do[problem](b, 409, operator, "DELETE", path, nil).Detail, "1 slices")
	b.report(e.Node, status("b", 2, card(0, "GPU-0", "a100-40gb")))
	require.Contains(t, do[problem](b, 409, operator, "DELETE", path, nil).Detail, "cordon")
	do[object](b, 200, operator, "PATCH", path, object{"cordoned": true})
	do[struct{}](b, 204, operator, "DELETE", path, nil)
	do[struct{}](b, 204, operator, "DELETE", path, nil)
	require.Equal(t, "retired", b.last(e.Node, 4).State)
	require.Equal(t, "retired", b.node(e.Node)["state"])
	require.Equal(t, "conflict", do[problem](b, 409, operator, "PATCH", path, object{"cordoned": false}).Code)

	require.Equal(t, "forbidden", do[problem](b, 403, node(e.Node), "POST", "/agent/v1/status", status("b", 3)).Code)
	require.Equal(t, "forbidden", do[problem](b, 403, node(e.Node), "POST", "/agent/v1/renew", object{"csr_pem": csr(t)}).Code)
	require.Len(t, do[struct{ Revoked []object }](b, 200, service("gateway"), "GET", "/internal/v1/ca", nil).Revoked, 1)

	find := func() any { return do[object](b, 200, service("sim"), "GET", "/internal/v1/nodes/n1", nil)["state"] }
	require.Equal(t, "retired", find())
	other := b.enroll("n1").Node
	require.Equal(t, "not_ready", find())
	require.NotEqual(t, e.Node, other, "a retired node's name is free, its id is not used again")
	b.report(other, status("c", 1, card(0, "GPU-0", "a100-40gb")))
	require.Len(t, b.gpus(other), 1, "and so are its cards")
}

func TestBetweenServices(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sim, gateway := service("sim"), service("gateway")
	token := do[object](b, 201, sim, "POST", "/internal/v1/join-tokens", object{"node_name": "sim-1"})
	id := do[enrolled](b, 201, nobody, "POST", "/agent/v1/enroll", object{"token": token["secret"], "csr_pem": csr(t), "node_name": "sim-1"}).Node
	b.report(id, status("b", 1))
	require.Equal(t, object{"id": id, "name": "sim-1", "state": "ready", "simulated": true}, do[object](b, 200, sim, "GET", "/internal/v1/nodes/sim-1", nil))
	do[problem](b, 404, sim, "GET", "/internal/v1/nodes/other", nil)
	do[problem](b, 404, sim, "GET", "/internal/v1/nodes/NOT%20A%20NAME", nil)
	do[problem](b, 422, sim, "POST", "/internal/v1/join-tokens", object{"node_name": "NOT A NAME"})

	do[problem](b, 422, gateway, "POST", "/internal/v1/server-certificate", object{"csr_pem": csr(t)})
	for _, path := range []string{"/internal/v1/ca", "/internal/v1/nodes/sim-1"} {
		do[problem](b, 403, service("metering"), "GET", path, nil)
		do[problem](b, 403, operator, "GET", path, nil)
		do[problem](b, 403, node(id), "GET", path, nil)
	}
	do[problem](b, 401, gateway, "POST", "/internal/v1/join-tokens", object{"node_name": "n"})
	do[problem](b, 403, sim, "POST", "/internal/v1/server-certificate", object{"csr_pem": csr(t)})
}
