package tenant_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/services/tenant"
)

type page struct {
	Incarnation, Cursor string
	Items               []outbox.Item
}

// read reads a feed as a service, up to now.
func (b *bundle) read(service, path, feed, after string) (p page, status int) {
	b.t.Helper()
	base, client := b.stack.AsService(service).Client(tenant.Name)
	q := url.Values{"name": {feed}, "sync": {"1"}, "after": {after}}
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, base+path+"?"+q.Encode(), nil)
	require.NoError(b.t, err)
	resp, err := client.Do(r)
	require.NoError(b.t, err)
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		require.NoError(b.t, json.NewDecoder(resp.Body).Decode(&p))
	}
	return p, resp.StatusCode
}

func TestChangesArePublished(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, op := b.signUp(), b.operator()
	orgs, status := b.read("allocator", outbox.Path, "orgs", "")
	require.Equal(t, http.StatusOK, status)
	require.Len(t, orgs.Items, 1)
	require.Equal(t, p.actor.Org, orgs.Items[0].Key)
	require.JSONEq(t, `{"id":"`+p.actor.Org+`","name":"`+p.login.Org.Name+`","currency":"CNY","time_zone":"UTC","billing_mode":"postpaid","standing":"good","approved":true,"default_project":"`+p.login.Project.ID+`",
		"version":1,"at":"2026-03-01T12:00:00.000Z"}`, string(orgs.Items[0].Data))
	limits1, _ := b.read("allocator", outbox.Path, "limits", "")
	require.JSONEq(t, `{"org":"`+p.actor.Org+`","gpue_micro":16000000,"instances":20,"queued_instances":100,"vcpus_milli":null,"ram_mib":null,"version":1}`, string(limits1.Items[0].Data))

	r := patchOrg(t, op, p.actor.Org, tenantapi.AdminOrgPatch{Limits: limits(`{"gpue":0.000001,"vcpus":0.001}`)}, nil)
	require.Equal(t, http.StatusOK, r.StatusCode(), "%s", r.Body)
	more, _ := b.read("allocator", outbox.Path, "orgs", orgs.Cursor)
	require.Empty(t, more.Items, "the org itself did not change")
	limits2, _ := b.read("allocator", outbox.Path, "limits", limits1.Cursor)
	require.Len(t, limits2.Items, 1)
	require.JSONEq(t, `{"org":"`+p.actor.Org+`","gpue_micro":1,"instances":20,"queued_instances":100,"vcpus_milli":1,"ram_mib":null,"version":2}`, string(limits2.Items[0].Data))

	mine, err := p.UpdateOrgWithResponse(t.Context(), nil, tenantapi.OrgPatch{TimeZone: ptr("Asia/Shanghai")})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, mine.StatusCode())
	mine, err = p.UpdateOrgWithResponse(t.Context(), nil, tenantapi.OrgPatch{TimeZone: ptr("Asia/Shanghai")})
	require.NoError(t, err)
	require.Equal(t, `"2"`, mine.HTTPResponse.Header.Get("ETag"), "no change, no version")
	more, _ = b.read("metering", outbox.Path, "orgs", orgs.Cursor)
	require.Len(t, more.Items, 1)
	require.Contains(t, string(more.Items[0].Data), `"time_zone":"Asia/Shanghai"`)

	for feed, last := range map[string]outbox.Item{"orgs": more.Items[0], "limits": limits2.Items[0]} {
		list, status := b.read("allocator", outbox.ListPath, feed, "")
		require.Equal(t, http.StatusOK, status)
		require.Len(t, list.Items, 1)
		require.Equal(t, last.Key, list.Items[0].Key)
		require.JSONEq(t, string(last.Data), string(list.Items[0].Data), "the list says what the last item said")
	}
}

func TestARefusedChangeIsNotPublished(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	_, err := b.anybody().SignUpWithResponse(t.Context(), tenantapi.SignUp{Email: p.login.User.Email, Password: goodPassword, Name: "N", OrgName: "O"})
	require.NoError(t, err)
	stale, err := p.UpdateOrgWithResponse(t.Context(), &tenantapi.UpdateOrgParams{IfMatch: ptr(`"9"`)}, tenantapi.OrgPatch{Name: ptr("X")})
	require.NoError(t, err)
	require.Equal(t, http.StatusPreconditionFailed, stale.StatusCode())
	orgs, _ := b.read("allocator", outbox.Path, "orgs", "")
	require.Len(t, orgs.Items, 1)
}

func TestEveryChangeOfManyAtOnceIsPublished(t *testing.T) {
	t.Parallel()
	b := setupReal(t)
	const n = 24
	var mu sync.Mutex
	made := map[string]bool{}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			p := b.signUp()
			mu.Lock()
			defer mu.Unlock()
			made[p.actor.Org] = true
		})
	}
	wg.Wait()
	for _, feed := range []string{"orgs", "limits"} {
		got, _ := b.read("allocator", outbox.Path, feed, "")
		require.Len(t, got.Items, n)
		for i, item := range got.Items {
			require.True(t, made[item.Key])
			require.EqualValues(t, i+1, item.Pos)
		}
	}
}

func TestWhoMayReadTheFeeds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.signUp()
	for service, want := range map[string][2]int{"allocator": {200, 200}, "metering": {200, 403}, "inventory": {403, 403}, "gateway": {403, 403}, "sim": {403, 403}} {
		for i, feed := range []string{"orgs", "limits"} {
			for _, path := range []string{outbox.Path, outbox.ListPath} {
				_, status := b.read(service, path, feed, "")
				require.Equal(t, want[i], status, "%s reads %s at %s", service, feed, path)
			}
		}
	}
	resp, answer := b.raw(actor.Actor{Kind: actor.User, ID: "usr_01ARZ3NDEKTSV4RRFFQ69G5FAV", Operator: true}, http.MethodGet, outbox.Path+"?name=orgs", "")
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	require.Equal(t, string(fault.Forbidden), answer["code"])
}
