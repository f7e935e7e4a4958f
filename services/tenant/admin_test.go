package tenant_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
)

func limits(s string) *tenantapi.LimitsPatch { return ptr(json.RawMessage(s)) }

func patchOrg(t *testing.T, op person, org string, patch tenantapi.AdminOrgPatch, base *string) *tenantapi.UpdateAdminOrgResponse {
	t.Helper()
	r, err := op.UpdateAdminOrgWithResponse(t.Context(), org, &tenantapi.UpdateAdminOrgParams{IfMatch: base}, patch)
	require.NoError(t, err)
	return r
}

func TestLimitsAreInForceWhenTheAnswerIs200(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, op := b.signUp(), b.operator()
	r := patchOrg(t, op, p.actor.Org, tenantapi.AdminOrgPatch{Limits: limits(`{"gpue":0.142857,"instances":7,"vcpus":1.5,"ram_mib":null}`), Reason: ptr("trial")}, nil)
	require.Equal(t, http.StatusOK, r.StatusCode(), "%s", r.Body)
	require.Equal(t, []string{"orgs", "limits"}, b.allocator.feeds(), "the allocator was asked to read both feeds first")
	got := r.JSON200
	require.Equal(t, "0.142857", got.Limits.Gpue.String())
	require.Equal(t, "1.5", got.Limits.Vcpus.String())
	require.EqualValues(t, 7, *got.Limits.Instances)
	require.EqualValues(t, 100, *got.Limits.QueuedInstances, "what is absent stays")
	require.Nil(t, got.Limits.RAMMib)
	require.Equal(t, "trial", *got.Reason)

	r = patchOrg(t, op, p.actor.Org, tenantapi.AdminOrgPatch{Limits: limits(`{"gpue":null,"instances":0}`)}, nil)
	require.Equal(t, http.StatusOK, r.StatusCode(), "%s", r.Body)
	require.Nil(t, r.JSON200.Limits.Gpue, "null is unlimited")
	require.EqualValues(t, 0, *r.JSON200.Limits.Instances)

	me, err := p.GetMeWithResponse(t.Context())
	require.NoError(t, err)
	require.Nil(t, me.JSON200.Limits.Gpue)
	require.NotContains(t, string(me.Body), "trial", "the operator's reason is not the tenant's to read")
}

func TestAnAllocatorThatDoesNotConfirmIs202(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.EnforceWait = 100 * time.Millisecond
	b := run(t, nil, cfg, nil)
	p, op := b.signUp(), b.operator()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"down":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"broken": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"slow":   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		b.allocator.set(answer)
		r := patchOrg(t, op, p.actor.Org, tenantapi.AdminOrgPatch{Limits: limits(`{"gpue":3}`)}, nil)
		require.Equal(t, http.StatusAccepted, r.StatusCode(), "%s: %s", name, r.Body)
		require.Equal(t, "3", r.JSON202.Limits.Gpue.String(), "it is stored")
	}
	b.allocator.set(nil)
	r := patchOrg(t, op, p.actor.Org, tenantapi.AdminOrgPatch{Limits: limits(`{"gpue":3}`)}, nil)
	require.Equal(t, http.StatusOK, r.StatusCode(), "asking again, though nothing changes, tells when it is in force")
	require.Equal(t, `"3"`, r.HTTPResponse.Header.Get("ETag"), "one change, however often it was asked for")
}

func TestLimitsAreReadFromTheirText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, op := b.signUp(), b.operator()
	for text, want := range map[string]string{"0.1": "0.1", "0.3": "0.3", "16.000000": "16", "1e1": "10", "123456.654321": "123456.654321", "1000000": "1000000", "0": "0"} {
		r := patchOrg(t, op, p.actor.Org, tenantapi.AdminOrgPatch{Limits: limits(`{"gpue":` + text + `}`)}, nil)
		require.Equal(t, http.StatusOK, r.StatusCode(), "%s: %s", text, r.Body)
		require.Equal(t, want, r.JSON200.Limits.Gpue.String())
	}
	for body, field := range map[string]string{
		`{"limits":{"gpue":0.1234567}}`: "limits.gpue", `{"limits":{"gpue":-1}}`: "limits.gpue", `{"limits":{"gpue":"16"}}`: "limits.gpue", `{"limits":{"gpue":1e9}}`: "limits.gpue",
		`{"limits":{"gpue":1e400}}`: "limits.gpue", `{"limits":{"gpue":true}}`: "limits.gpue", `{"limits":{"vcpus":0.0001}}`: "limits.vcpus", `{"limits":{"instances":1.5}}`: "limits.instances",
		`{"limits":{"instances":-1}}`: "limits.instances", `{"limits":{"ram_mib":1e30}}`: "limits.ram_mib", `{"limits":{"max_priority":1}}`: "limits.max_priority",
		`{"limits":{"gpus":{"h100-80gb":1}}}`: "limits.gpus", `{"limits":{}}`: "limits", `{"limits":[]}`: "limits", `{"limits":{"gpue":NaN}}`: "body",
		`{"standing":"great"}`: "standing", `{"standing":1}`: "standing", `{"billing_mode":"free"}`: "billing_mode", `{"approved":"yes"}`: "approved", `{"name":"x"}`: "name",
		`{"reason":""}`: "reason", `{"reason":"a\u0000b"}`: "reason", `{}`: "", `{"reason":"a\nb"}`: "reason",
	} {
		resp, answer := b.raw(op.actor, http.MethodPatch, "/v1/admin/orgs/"+p.actor.Org, body)
		require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, "%s: %v", body, answer)
		require.Equal(t, "invalid", answer["code"])
		if field != "" {
			require.Contains(t, answer["errors"].([]any)[0].(map[string]any)["field"], field, body)
		}
	}
	got, err := op.GetAdminOrgWithResponse(t.Context(), p.actor.Org)
	require.NoError(t, err)
	require.NotNil(t, got.JSON200.Limits.Gpue)
}

func TestConcurrentPatchesLoseNothing(t *testing.T) {
	t.Parallel()
	b := setupReal(t)
	p, op := b.signUp(), b.operator()
	var wg sync.WaitGroup
	for _, patch := range []string{`{"gpue":1}`, `{"instances":2}`, `{"queued_instances":3}`, `{"vcpus":4}`, `{"ram_mib":5}`} {
		wg.Go(func() {
			r, err := op.UpdateAdminOrgWithResponse(t.Context(), p.actor.Org, nil, tenantapi.AdminOrgPatch{Limits: limits(patch)})
			if err != nil || r.StatusCode() != http.StatusOK {
				t.Errorf("%v %s", err, r.Body)
			}
		})
	}
	wg.Wait()
	got, err := op.GetAdminOrgWithResponse(t.Context(), p.actor.Org)
	require.NoError(t, err)
	l := got.JSON200.Limits
	require.Equal(t, "1 2 3 4 5", l.Gpue.String()+" "+str(*l.Instances)+" "+str(*l.QueuedInstances)+" "+l.Vcpus.String()+" "+str(*l.RAMMib))
	require.Equal(t, `"7"`, got.HTTPResponse.Header.Get("ETag"))
}

func str(n int64) string { b, _ := json.Marshal(n); return string(b) }

func TestPatchesBuildOnAVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, op := b.signUp(), b.operator()
	got, err := op.GetAdminOrgWithResponse(t.Context(), p.actor.Org)
	require.NoError(t, err)
	etag := got.HTTPResponse.Header.Get("ETag")
	require.Equal(t, http.StatusOK, patchOrg(t, op, p.actor.Org, tenantapi.AdminOrgPatch{Limits: limits(`{"gpue":1}`)}, &etag).StatusCode())
	stale := patchOrg(t, op, p.actor.Org, tenantapi.AdminOrgPatch{Standing: ptr(tenantapi.Suspended)}, &etag)
	require.Equal(t, http.StatusPreconditionFailed, stale.StatusCode(), "a change of the limits counts for the org")
	org, err := p.GetOrgWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, tenantapi.Good, org.JSON200.Standing)
	require.Equal(t, `"1"`, org.HTTPResponse.Header.Get("ETag"))
	mine, err := p.UpdateOrgWithResponse(t.Context(), &tenantapi.UpdateOrgParams{IfMatch: ptr(`"1"`)}, tenantapi.OrgPatch{Name: ptr("New"), TimeZone: ptr("Asia/Shanghai")})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, mine.StatusCode(), "%s", mine.Body)
	require.Equal(t, "Asia/Shanghai", mine.JSON200.TimeZone)
	mine, err = p.UpdateOrgWithResponse(t.Context(), &tenantapi.UpdateOrgParams{IfMatch: ptr(`"1"`)}, tenantapi.OrgPatch{Name: ptr("Newer")})
	require.NoError(t, err)
	require.Equal(t, http.StatusPreconditionFailed, mine.StatusCode())
}

func TestAnOperatorMakesAnOrgWithItsOwner(t *testing.T) {
	t.Parallel()
	b := setup(t)
	op := b.operator()
	body := tenantapi.AdminOrgCreate{
		Name: "ACME", Currency: ptr(tenantapi.USD), TimeZone: ptr("America/New_York"), BillingMode: ptr(tenantapi.Prepaid), Limits: limits(`{"gpue":2.5,"instances":null}`),
		Owner: &tenantapi.NewOwner{Email: "Boss@ACME.example", Name: "Boss"},
	}
	r, err := op.CreateOrgWithResponse(t.Context(), &tenantapi.CreateOrgParams{IdempotencyKey: "acme"}, body)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, r.StatusCode(), "%s", r.Body)
	made := r.JSON201
	require.Equal(t, "2.5", made.Limits.Gpue.String())
	require.Nil(t, made.Limits.Instances)
	require.Equal(t, tenantapi.Prepaid, made.BillingMode)
	require.NotNil(t, made.Secret)
	again, err := op.CreateOrgWithResponse(t.Context(), &tenantapi.CreateOrgParams{IdempotencyKey: "acme"}, body)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, again.StatusCode())
	require.Equal(t, made.ID, again.JSON201.ID)
	require.Nil(t, again.JSON201.Secret)

	l, err := b.logIn("boss@acme.example", *made.Secret)
	require.NoError(t, err)
	boss := b.enter(l)
	require.Equal(t, made.ID, boss.actor.Org)
	require.Equal(t, actor.Owner, boss.actor.Role)
	require.Equal(t, "default", l.Project.Name)

	taken, err := op.CreateOrgWithResponse(t.Context(), &tenantapi.CreateOrgParams{IdempotencyKey: "acme2"}, body)
	require.NoError(t, err)
	require.Equal(t, fault.Conflict, code(refusal(taken.StatusCode(), taken.Body, taken.HTTPResponse)))
	b.clk.Advance(time.Millisecond) // ids sort by the millisecond
	bare, err := op.CreateOrgWithResponse(t.Context(), &tenantapi.CreateOrgParams{IdempotencyKey: "bare"}, tenantapi.AdminOrgCreate{Name: "Bare"})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, bare.StatusCode())
	require.Nil(t, bare.JSON201.Owner)
	require.Nil(t, bare.JSON201.Secret)
	require.Equal(t, "16", bare.JSON201.Limits.Gpue.String())

	list, err := op.ListOrgsWithResponse(t.Context(), &tenantapi.ListOrgsParams{Limit: ptr(1)})
	require.NoError(t, err)
	require.Equal(t, bare.JSON201.ID, list.JSON200.Items[0].ID)
	list, err = op.ListOrgsWithResponse(t.Context(), &tenantapi.ListOrgsParams{Limit: ptr(1), Cursor: list.JSON200.NextCursor})
	require.NoError(t, err)
	require.Equal(t, made.ID, list.JSON200.Items[0].ID)
	require.Nil(t, list.JSON200.NextCursor)
	missing, err := op.GetAdminOrgWithResponse(t.Context(), "org_01ARZ3NDEKTSV4RRFFQ69G5FAV")
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, missing.StatusCode())
}

func TestTenantsAreNoOperators(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, other := b.signUp(), b.signUp()
	for _, call := range []struct{ method, path, body string }{
		{"GET", "/v1/admin/orgs", ""}, {"POST", "/v1/admin/orgs", `{"name":"x"}`}, {"GET", "/v1/admin/orgs/" + p.actor.Org, ""}, {"GET", "/v1/admin/orgs/" + other.actor.Org, ""},
		{"PATCH", "/v1/admin/orgs/" + p.actor.Org, `{"limits":{"gpue":null}}`},
	} {
		resp, answer := b.raw(p.actor, call.method, call.path, call.body, "Idempotency-Key", "k")
		require.Equal(t, http.StatusForbidden, resp.StatusCode, "%s %s: %v", call.method, call.path, answer)
		resp, _ = b.raw(actor.Actor{}, call.method, call.path, call.body, "Idempotency-Key", "k")
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	}
}
