package tenant_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
)

// trust.md, 9 (mcp-context-forge#3291): a key cannot mint keys, nor undo its own end.
func TestAKeyCannotManageKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	k := p.newKey(t, "owner")
	who, err := b.authenticate(*k.Secret)
	require.NoError(t, err)
	key := person{b.as(who), p.login, who}
	r, err := key.CreateAPIKeyWithResponse(t.Context(), &tenantapi.CreateAPIKeyParams{IdempotencyKey: "x"}, tenantapi.APIKeyCreate{Name: "child", Role: "viewer"})
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, r.StatusCode())
	requireStatus(t, 403)(patchKey(t, key, k.ID, false))
	requireStatus(t, 403)(deleteKey(t, key, k.ID))
}

func TestAKeyDoesNoMoreThanItsMinter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner := b.signUp()
	want := map[actor.Role]map[tenantapi.Role]int{
		actor.Owner:     {"owner": 201, "admin": 201, "developer": 201, "billing": 201, "viewer": 201},
		actor.Admin:     {"owner": 403, "admin": 201, "developer": 201, "billing": 201, "viewer": 201},
		actor.Developer: {"owner": 403, "admin": 403, "developer": 201, "billing": 403, "viewer": 201},
		actor.Billing:   {"owner": 403, "admin": 403, "developer": 403, "billing": 403, "viewer": 403},
		actor.Viewer:    {"owner": 403, "admin": 403, "developer": 403, "billing": 403, "viewer": 403},
	}
	for role, answers := range want {
		p := b.colleague(owner, role)
		for asked, status := range answers {
			r, err := p.CreateAPIKeyWithResponse(t.Context(), &tenantapi.CreateAPIKeyParams{IdempotencyKey: idemKey()}, tenantapi.APIKeyCreate{Name: "k", Role: asked})
			require.NoError(t, err)
			require.Equal(t, status, r.StatusCode(), "%s mints %s: %s", role, asked, r.Body)
		}
	}
	// The gateway's word about the role is up to 65 s old; the row is not.
	admin := b.colleague(owner, actor.Admin)
	b.sql(`UPDATE tenant.membership SET role = 'developer' WHERE account = $1`, admin.actor.ID)
	r, err := admin.CreateAPIKeyWithResponse(t.Context(), &tenantapi.CreateAPIKeyParams{IdempotencyKey: "old"}, tenantapi.APIKeyCreate{Name: "k", Role: "admin"})
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, r.StatusCode())
}

// highflame-ai/zeroid#96: keys read and revoked by id without the tenant. paperclipai/paperclip#3967:
// foreign and missing ids told apart.
func TestForeignKeysDoNotExist(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alice, mallory := b.signUp(), b.signUp()
	k := alice.newKey(t, "developer")
	dev := b.colleague(alice, actor.Developer)
	for name, caller := range map[string]person{"another org's owner": mallory, "a colleague without the right": dev} {
		var first map[string]any
		for _, target := range []string{k.ID, "key_01ARZ3NDEKTSV4RRFFQ69G5FAV", "nonsense", "' OR 1=1 --", alice.actor.Org} {
			for _, call := range []struct{ method, body string }{{http.MethodPatch, `{"disabled":true}`}, {http.MethodDelete, ""}} {
				resp, answer := b.raw(caller.actor, call.method, "/v1/api-keys/"+urlEscape(target), call.body)
				require.Equal(t, http.StatusNotFound, resp.StatusCode, "%s %s %s", name, call.method, target)
				delete(answer, "request_id")
				if first == nil {
					first = answer
				}
				require.Equal(t, first, answer)
			}
		}
	}
	_, err := b.authenticate(*k.Secret)
	require.NoError(t, err, "it still works")
	list, err := mallory.ListAPIKeysWithResponse(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, list.JSON200.Items)
	list, err = dev.ListAPIKeysWithResponse(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, list.JSON200.Items, "a developer sees its own keys")
	r, err := mallory.CreateAPIKeyWithResponse(t.Context(), &tenantapi.CreateAPIKeyParams{IdempotencyKey: "k"}, tenantapi.APIKeyCreate{Name: "k", Role: "viewer", Project: &alice.login.Project.ID})
	require.NoError(t, err)
	f := fault.From(refusal(r.StatusCode(), r.Body, r.HTTPResponse))
	require.Equal(t, "project", f.Fields[0].Field, "another org's project is none")
}
