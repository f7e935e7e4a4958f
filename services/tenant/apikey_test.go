package tenant_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
)

func (b *bundle) role(p person, role actor.Role) person {
	b.sql(`UPDATE tenant.membership SET role = $1 WHERE account = $2`, string(role), p.login.User.ID)
	return b.enter(p.login)
}

// colleague signs up and is moved into another person's org.
func (b *bundle) colleague(of person, role actor.Role) person {
	b.t.Helper()
	p := b.signUp()
	b.sql(`UPDATE tenant.membership SET org = $1, role = $2 WHERE account = $3`, of.actor.Org, string(role), p.login.User.ID)
	l, err := b.logIn(p.login.User.Email, goodPassword)
	require.NoError(b.t, err)
	return b.enter(l)
}

func TestAKeySpeaksForItsOrg(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	expires := b.clk.Now().Add(time.Hour)
	r, err := p.CreateAPIKeyWithResponse(t.Context(), &tenantapi.CreateAPIKeyParams{IdempotencyKey: "k"}, tenantapi.APIKeyCreate{
		Name: " ci ", Role: "developer", Project: &p.login.Project.ID, ExpiresAt: &expires,
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, r.StatusCode(), "%s", r.Body)
	k := r.JSON201
	require.Regexp(t, `^weir_dp_[0-9A-Za-z]{36}$`, *k.Secret)
	require.Equal(t, "ci", k.Name)
	require.Equal(t, p.login.User.ID, k.Owner)
	require.Nil(t, k.LastUsedAt)

	who, err := b.authenticate(*k.Secret)
	require.NoError(t, err)
	require.Equal(t, actor.Actor{Kind: actor.APIKey, ID: k.ID, Org: p.actor.Org, Project: p.login.Project.ID, Role: actor.Developer}, who)
	list, err := p.ListAPIKeysWithResponse(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.JSON200.Items, 1)
	require.NotContains(t, string(list.Body), *k.Secret)
	require.Equal(t, b.clk.Now(), *list.JSON200.Items[0].LastUsedAt)

	// The last use is kept to the minute: a write per request would cost more than it is worth.
	first := b.clk.Now()
	b.clk.Advance(59 * time.Second)
	_, err = b.authenticate(*k.Secret)
	require.NoError(t, err)
	require.Equal(t, first, b.lastUsed(p, k.ID))
	b.clk.Advance(time.Second)
	_, err = b.authenticate(*k.Secret)
	require.NoError(t, err)
	require.Equal(t, b.clk.Now(), b.lastUsed(p, k.ID))

	b.clk.Advance(time.Hour)
	_, err = b.authenticate(*k.Secret)
	require.Equal(t, fault.Unauthenticated, code(err), "expired")

	me, err := b.as(who).GetMeWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, me.StatusCode(), "%s", me.Body)
	require.Equal(t, tenantapi.MeKind("key"), me.JSON200.Kind)
	require.Nil(t, me.JSON200.User)
	require.Equal(t, k.ID, me.JSON200.APIKey.ID)
	require.Equal(t, p.login.Project.ID, *me.JSON200.Project)
}

func (b *bundle) lastUsed(p person, key string) time.Time {
	list, err := p.ListAPIKeysWithResponse(b.t.Context(), nil)
	require.NoError(b.t, err)
	for _, k := range list.JSON200.Items {
		if k.ID == key {
			return *k.LastUsedAt
		}
	}
	b.t.Fatal("no such key")
	return time.Time{}
}

// gpustack/gpustack#5491: a member is removed, his key keeps working. gpustack/gpustack#5273:
// a key's change has no effect until a restart.
func TestWhatEndsAKeyEndsItAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner := b.signUp()
	for name, end := range map[string]func(p person, key string){
		"disabled":      func(p person, key string) { requireStatus(t, 200)(patchKey(t, p, key, true)) },
		"deleted":       func(p person, key string) { requireStatus(t, 204)(deleteKey(t, p, key)) },
		"owner removed": func(p person, _ string) { b.sql(`DELETE FROM tenant.membership WHERE account = $1`, p.actor.ID) },
		"owner disabled": func(p person, _ string) {
			b.sql(`UPDATE tenant.account SET disabled_at = now() WHERE id = $1`, p.actor.ID)
		},
	} {
		p := b.colleague(owner, actor.Developer)
		k := p.newKey(t, "developer")
		_, err := b.authenticate(*k.Secret)
		require.NoError(t, err, name)
		end(p, k.ID)
		_, err = b.authenticate(*k.Secret)
		require.Equal(t, fault.Unauthenticated, code(err), name)
	}

	p := b.colleague(owner, actor.Developer)
	k := p.newKey(t, "developer")
	requireStatus(t, 200)(patchKey(t, p, k.ID, true))
	requireStatus(t, 200)(patchKey(t, p, k.ID, false))
	_, err := b.authenticate(*k.Secret)
	require.NoError(t, err, "enabled again")
	b.role(p, actor.Billing)
	who, err := b.authenticate(*k.Secret)
	require.NoError(t, err)
	require.Equal(t, actor.Viewer, who.Role, "a key does no more than its owner may")

	// A suspended org's keys are refused with the reason; its people may still come in and pay.
	b.sql(`UPDATE tenant.org SET standing = 'suspended' WHERE id = $1`, owner.actor.Org)
	_, err = b.authenticate(*k.Secret)
	require.Equal(t, fault.OrgSuspended, code(err))
	_, err = b.authenticate(owner.login.AccessToken)
	require.NoError(t, err)
}

func requireStatus(t *testing.T, want int) func(*http.Response, error) {
	return func(r *http.Response, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, want, r.StatusCode)
	}
}

func patchKey(t *testing.T, p person, key string, disabled bool) (*http.Response, error) {
	r, err := p.UpdateAPIKeyWithResponse(t.Context(), key, nil, tenantapi.APIKeyPatch{Disabled: disabled})
	if err != nil {
		return nil, err
	}
	return r.HTTPResponse, nil
}

func deleteKey(t *testing.T, p person, key string) (*http.Response, error) {
	r, err := p.DeleteAPIKeyWithResponse(t.Context(), key)
	if err != nil {
		return nil, err
	}
	return r.HTTPResponse, nil
}

func TestCreatingAKeyIsIdempotent(t *testing.T) {
	t.Parallel()
	b := setupReal(t)
	p := b.signUp()
	body := tenantapi.APIKeyCreate{Name: "ci", Role: "developer"}
	var mu sync.Mutex
	ids, secrets, replayed := map[string]int{}, 0, 0
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			r, err := p.CreateAPIKeyWithResponse(t.Context(), &tenantapi.CreateAPIKeyParams{IdempotencyKey: "same"}, body)
			if err != nil || r.JSON201 == nil {
				t.Errorf("%v %s", err, r.Body)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[r.JSON201.ID]++
			if r.JSON201.Secret != nil {
				secrets++
			}
			if r.HTTPResponse.Header.Get("Idempotent-Replayed") == "true" {
				replayed++
			}
		})
	}
	wg.Wait()
	require.Len(t, ids, 1, "one effect")
	require.Equal(t, 1, secrets, "the plaintext is shown once")
	require.Equal(t, 15, replayed)

	r, err := p.CreateAPIKeyWithResponse(t.Context(), &tenantapi.CreateAPIKeyParams{IdempotencyKey: "same"}, tenantapi.APIKeyCreate{Name: "other", Role: "developer"})
	require.NoError(t, err)
	require.Equal(t, fault.IdempotencyMismatch, code(refusal(r.StatusCode(), r.Body, r.HTTPResponse)))

	// A refusal is not remembered, and the key belongs to its org.
	r, err = p.CreateAPIKeyWithResponse(t.Context(), &tenantapi.CreateAPIKeyParams{IdempotencyKey: "refused"}, tenantapi.APIKeyCreate{Name: "k", Role: "viewer", Project: ptr("prj_x")})
	require.NoError(t, err)
	require.Equal(t, http.StatusUnprocessableEntity, r.StatusCode())
	for _, caller := range []person{p, b.signUp()} {
		for _, key := range []string{"refused", "same2"} {
			r, err = caller.CreateAPIKeyWithResponse(t.Context(), &tenantapi.CreateAPIKeyParams{IdempotencyKey: key}, body)
			require.NoError(t, err)
			require.Equal(t, http.StatusCreated, r.StatusCode(), "%s", r.Body)
			require.NotNil(t, r.JSON201.Secret)
		}
	}
}

func TestKeyPagesAndVersions(t *testing.T) {
	t.Parallel()
	b := setupReal(t)
	p := b.signUp()
	var made []string
	for i := range 7 {
		r, err := p.CreateAPIKeyWithResponse(t.Context(), &tenantapi.CreateAPIKeyParams{IdempotencyKey: idemKey()}, tenantapi.APIKeyCreate{Name: fmt.Sprint(i), Role: "viewer"})
		require.NoError(t, err)
		made = append(made, r.JSON201.ID)
	}
	seen := map[string]bool{}
	var cursor *string
	pages := 0
	for {
		r, err := p.ListAPIKeysWithResponse(t.Context(), &tenantapi.ListAPIKeysParams{Limit: ptr(3), Cursor: cursor})
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, r.StatusCode(), "%s", r.Body)
		for _, k := range r.JSON200.Items {
			require.False(t, seen[k.ID])
			seen[k.ID] = true
		}
		pages++
		if cursor = r.JSON200.NextCursor; cursor == nil {
			break
		}
	}
	require.Equal(t, 3, pages)
	for _, id := range made {
		require.True(t, seen[id])
	}

	first, err := p.UpdateAPIKeyWithResponse(t.Context(), made[0], nil, tenantapi.APIKeyPatch{Disabled: true})
	require.NoError(t, err)
	etag := first.HTTPResponse.Header.Get("ETag")
	require.Equal(t, `"2"`, etag)
	for base, status := range map[string]int{`"1"`: 412, `W/"2"`: 412, `"two"`: 422, etag: 200, "*": 200} {
		r, err := p.UpdateAPIKeyWithResponse(t.Context(), made[0], &tenantapi.UpdateAPIKeyParams{IfMatch: &base}, tenantapi.APIKeyPatch{Disabled: true})
		require.NoError(t, err)
		require.Equal(t, status, r.StatusCode(), "%s: %s", base, r.Body)
	}
}
