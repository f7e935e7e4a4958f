package tenant_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
)

// Whatever comes in, the answer is the problem of the contract, never a 500, and nothing
// is half done.
func TestMalformedInput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	k := p.newKey(t, "viewer")
	long := strings.Repeat("x", 300)
	signup := func(change string) string {
		return strings.Replace(`{"email":"new@example.com","password":"a-long-enough-password","name":"N","org_name":"O"}`, strings.SplitN(change, "→", 2)[0], strings.SplitN(change, "→", 2)[1], 1)
	}
	type call struct {
		method, path, body, field string
	}
	for _, c := range []call{
		{"POST", "/v1/auth/signup", "", "body"}, {"POST", "/v1/auth/signup", "{", "body"}, {"POST", "/v1/auth/signup", "[]", ""}, {"POST", "/v1/auth/signup", "null", ""},
		{"POST", "/v1/auth/signup", `{"email":"a@b"}`, ""}, {"POST", "/v1/auth/signup", signup(`"name"→"role":"owner","name"`), "role"},
		{"POST", "/v1/auth/signup", signup(`"name"→"org":"` + p.actor.Org + `","name"`), "org"}, {"POST", "/v1/auth/signup", signup(`"name"→"operator":true,"name"`), "operator"},
		{"POST", "/v1/auth/signup", signup(`new@example.com→not an address`), "email"}, {"POST", "/v1/auth/signup", signup(`"new@example.com"→5`), "email"},
		{"POST", "/v1/auth/signup", signup(`a-long-enough-password→short`), "password"}, {"POST", "/v1/auth/signup", signup(`a-long-enough-password→` + long), "password"},
		{"POST", "/v1/auth/signup", signup(`"N"→"   "`), "name"}, {"POST", "/v1/auth/signup", signup(`"N"→"a\u0000b"`), "name"}, {"POST", "/v1/auth/signup", signup(`"N"→"a\u202eb"`), "name"},
		{"POST", "/v1/auth/signup", signup(`"N"→"` + long + `"`), "name"}, {"POST", "/v1/auth/signup", signup(`"O"→null`), "org_name"}, {"POST", "/v1/auth/signup", signup(`"O"→"O","currency":"EUR"`), "currency"},
		{"POST", "/v1/auth/login", `{"email":"a@b","password":["x"]}`, "password"}, {"POST", "/v1/auth/login", `{"email":"a@b","password":"x","x":1}`, "x"},
		{"POST", "/v1/auth/login?session=cookie", `{"email":"a@b","password":"x"}`, "session"}, {"POST", "/v1/auth/login?next=/", `{"email":"a@b","password":"x"}`, "next"},
		{"POST", "/v1/auth/refresh", `{"refresh_token":""}`, "refresh_token"}, {"POST", "/v1/auth/refresh", `{"refresh_token":"` + long + long + `"}`, "refresh_token"},
		{"PATCH", "/v1/org", `{}`, ""}, {"PATCH", "/v1/org", `{"currency":"USD"}`, "currency"}, {"PATCH", "/v1/org", `{"standing":"good"}`, "standing"}, {"PATCH", "/v1/org", `{"limits":{"gpue":null}}`, "limits"},
		{"PATCH", "/v1/org", `{"time_zone":"Mars/Olympus"}`, "time_zone"}, {"PATCH", "/v1/org", `{"name":""}`, "name"}, {"PATCH", "/v1/org", `{"name":"a","name":"b"}`, "name"},
		{"GET", "/v1/projects?limit=0", "", "limit"}, {"GET", "/v1/projects?limit=201", "", "limit"}, {"GET", "/v1/projects?limit=ten", "", "limit"}, {"GET", "/v1/projects?cursor=!!", "", "cursor"},
		{"GET", "/v1/api-keys?cursor=WyJhIiwiYiJd", "", "cursor"}, {"GET", "/v1/api-keys?owner=x", "", "owner"},
		{"POST", "/v1/api-keys", `{"name":"k","role":"root"}`, "role"}, {"POST", "/v1/api-keys", `{"name":"k","role":"viewer","org":"org_x"}`, "org"},
		{"POST", "/v1/api-keys", `{"name":"k","role":"viewer","spend_cap":{"amount":"1","currency":"CNY"}}`, "spend_cap"}, {"POST", "/v1/api-keys", `{"name":"k","role":"viewer","expires_at":"tomorrow"}`, "expires_at"},
		{"POST", "/v1/api-keys", `{"name":"k","role":"viewer","expires_at":"2020-01-01T00:00:00Z"}`, "expires_at"}, {"POST", "/v1/api-keys", `{"name":"k","role":"viewer","expires_at":"2026-02-30T00:00:00Z"}`, ""},
		{"POST", "/v1/api-keys", `{"name":"k","role":"viewer","secret":"weir_o_x"}`, "secret"}, {"PATCH", "/v1/api-keys/" + k.ID, `{"disabled":"yes"}`, "disabled"}, {"PATCH", "/v1/api-keys/" + k.ID, `{"disabled":null}`, "disabled"},
		{"PATCH", "/v1/api-keys/" + k.ID, `{"disabled":true,"role":"owner"}`, "role"}, {"POST", "/v1/auth/logout", `{"all":true}`, ""},
	} {
		who := p.actor
		if strings.HasPrefix(c.path, "/v1/auth/") && !strings.HasSuffix(c.path, "logout") {
			who = actor.Actor{}
		}
		resp, answer := b.raw(who, c.method, c.path, c.body, "Idempotency-Key", idemKey())
		require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, "%s %s %s: %v", c.method, c.path, c.body, answer)
		require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
		require.Equal(t, "invalid", answer["code"])
		require.NotEmpty(t, answer["request_id"])
		if c.field != "" {
			require.Equal(t, c.field, answer["errors"].([]any)[0].(map[string]any)["field"], "%s %s: %v", c.path, c.body, answer)
		}
	}

	for _, headers := range [][]string{nil, {"Idempotency-Key", ""}, {"Idempotency-Key", long}, {"Idempotency-Key", "caf\xc3\xa9"}} {
		resp, answer := b.raw(p.actor, "POST", "/v1/api-keys", `{"name":"k","role":"viewer"}`, headers...)
		require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, "%v: %v", headers, answer)
	}
	resp, _ := b.raw(actor.Actor{}, "POST", "/v1/auth/signup", `{"name":"`+strings.Repeat("x", 1<<20)+`"}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
	resp, _ = b.raw(actor.Actor{}, "GET", "/v1/me", "")
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	resp, _ = b.raw(actor.Actor{}, "GET", "/v1/me", "", "Authorization", "Bearer forged")
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	resp, _ = b.raw(p.actor, "POST", "/v1/projects", `{"name":"x"}`)
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode, "a later issue")

	var accounts, orgs, made int
	require.NoError(t, b.admin.QueryRow(`SELECT (SELECT count(*) FROM tenant.account), (SELECT count(*) FROM tenant.org), (SELECT count(*) FROM tenant.api_key)`).Scan(&accounts, &orgs, &made))
	require.Equal(t, [3]int{2, 1, 1}, [3]int{accounts, orgs, made})
}
