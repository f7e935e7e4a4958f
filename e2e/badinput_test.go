package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/e2e/internal/rest"
)

// Bad input is answered with exactly the contract's problem, never a 500, and nothing is
// half done.
func TestBadInput(t *testing.T) {
	t.Parallel()
	s := start(t, "--sim-runtime", "null", "--sim-nodes", "1xh100-80gb-sxm5:8", "--rate-limit", "0")
	c := newTenant(t, s, "bad")
	awaitOffering(t, c, "h100-80gb.1g.10gb")
	good := `{"name":"x","offering":"h100-80gb.1g.10gb"}`
	key := []string{"Idempotency-Key", "one-key"}
	ok := func(body string) []string { return []string{"Idempotency-Key", rest.Key()} }
	for name, tc := range map[string]struct {
		method, path, body string
		headers            func(string) []string
		status             int
		code, field        string
	}{
		"malformed JSON":       {body: `{"name":`, status: 422, code: "invalid"},
		"two documents":        {body: good + good, status: 422, code: "invalid"},
		"empty body":           {body: ` `, status: 422, code: "invalid"},
		"not an object":        {body: `[]`, status: 422, code: "invalid"},
		"null":                 {body: `null`, status: 422, code: "invalid"},
		"unknown field":        {body: `{"name":"x","offering":"h100-80gb.1g.10gb","org":"org_x"}`, status: 422, code: "invalid", field: "org"},
		"privileged":           {body: `{"name":"x","offering":"h100-80gb.1g.10gb","privileged":true}`, status: 422, code: "invalid", field: "privileged"}, // skypilot-org/skypilot#2721
		"host paths":           {body: `{"name":"x","offering":"h100-80gb.1g.10gb","volumes":["/dev:/dev"]}`, status: 422, code: "invalid", field: "volumes"},
		"wrong type":           {body: `{"name":7,"offering":"h100-80gb.1g.10gb"}`, status: 422, code: "invalid", field: "name"},
		"number as string":     {body: `{"name":"x","offering":"h100-80gb.1g.10gb","count":"1"}`, status: 422, code: "invalid", field: "count"},
		"NaN":                  {body: `{"name":"x","offering":"h100-80gb.1g.10gb","vcpus":NaN}`, status: 422, code: "invalid"},
		"negative":             {body: `{"name":"x","offering":"h100-80gb.1g.10gb","vcpus":-1}`, status: 422, code: "invalid", field: "vcpus"},
		"zero cards":           {body: `{"name":"x","offering":"h100-80gb.whole","count":0}`, status: 422, code: "invalid", field: "count"},
		"a million cards":      {body: `{"name":"x","offering":"h100-80gb.whole","count":1000000}`, status: 422, code: "invalid", field: "count"},
		"absurd number":        {body: `{"name":"x","offering":"h100-80gb.1g.10gb","ram_mib":1e300}`, status: 422, code: "invalid", field: "ram_mib"},
		"fraction of a MiB":    {body: `{"name":"x","offering":"h100-80gb.1g.10gb","ram_mib":1.5}`, status: 422, code: "invalid", field: "ram_mib"},
		"too fine vCPU":        {body: `{"name":"x","offering":"h100-80gb.1g.10gb","vcpus":0.0001}`, status: 422, code: "invalid", field: "vcpus"},
		"both offerings":       {body: `{"name":"x","offering":"h100-80gb.1g.10gb","offerings":["h100-80gb.whole"]}`, status: 422, code: "invalid"},
		"no offering":          {body: `{"name":"x"}`, status: 422, code: "invalid"},
		"several slices":       {body: `{"name":"x","offering":"h100-80gb.1g.10gb","count":2}`, status: 422, code: "invalid", field: "count"},
		"queue not built":      {body: `{"name":"x","offering":"h100-80gb.1g.10gb","wait":true}`, status: 422, code: "invalid", field: "wait"},
		"terms not built":      {body: `{"name":"x","offering":"h100-80gb.1g.10gb","term":"monthly"}`, status: 422, code: "invalid", field: "term"},
		"gangs not built":      {body: `{"name":"x","offering":"h100-80gb.whole","nodes":2}`, status: 422, code: "invalid", field: "nodes"},
		"disks not built":      {body: `{"name":"x","offering":"h100-80gb.1g.10gb","disk_gib":10}`, status: 422, code: "invalid", field: "disk_gib"},
		"shares not built":     {body: `{"name":"x","offering":"h100-80gb.shared","share":50}`, status: 422, code: "invalid", field: "share"},
		"no idempotency key":   {body: good, headers: func(string) []string { return nil }, status: 422, code: "invalid", field: "Idempotency-Key"},
		"an empty key":         {body: good, headers: func(string) []string { return []string{"Idempotency-Key", ""} }, status: 422, code: "invalid", field: "Idempotency-Key"},
		"an endless key":       {body: good, headers: func(string) []string { return []string{"Idempotency-Key", strings.Repeat("k", 300)} }, status: 422, code: "invalid", field: "Idempotency-Key"},
		"too large":            {body: `{"name":"x","offering":"` + strings.Repeat("y", 2<<20) + `"}`, status: 413},
		"a moved price":        {body: `{"name":"x","offering":"h100-80gb.1g.10gb","max_price_per_hour":"0.01"}`, status: 409, code: "price_changed"},
		"a NUL":                {body: `{"name":"x\u0000","offering":"h100-80gb.1g.10gb"}`, status: 422, code: "invalid", field: "name"},
		"unknown query":        {method: "GET", path: "/v1/instances?colour=red", status: 422, code: "invalid", field: "colour"},
		"absurd page":          {method: "GET", path: "/v1/instances?limit=100000", status: 422, code: "invalid", field: "limit"},
		"forged cursor":        {method: "GET", path: "/v1/instances?cursor=AAAA", status: 422, code: "invalid", field: "cursor"},
		"usage backwards":      {method: "GET", path: "/v1/usage?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", status: 422, code: "invalid"},
		"usage of nonsense":    {method: "GET", path: "/v1/usage?from=yesterday", status: 422, code: "invalid", field: "from"},
		"unknown path":         {method: "GET", path: "/v1/nothing", status: 404, code: "not_found"},
		"wrong method":         {method: "PUT", path: "/v1/instances", body: good, status: 405},
		"path traversal":       {method: "GET", path: "/v1/instances/..%2f..%2finternal%2fv1%2ffeed", status: 404, code: "not_found"},
		"an internal path":     {method: "GET", path: "/internal/v1/feed?name=orgs", status: 404, code: "not_found"},
		"another's audience":   {method: "GET", path: "/v1/admin/orgs", status: 403, code: "forbidden"},
		"an offering unknown":  {body: `{"name":"x","offering":"h100-80gb.9g.bogus"}`, status: 422, code: "invalid"},
		"env with a bad name":  {body: `{"name":"x","offering":"h100-80gb.1g.10gb","env":{"A=B":"1"}}`, status: 422, code: "invalid"},
		"a command too large":  {body: `{"name":"x","offering":"h100-80gb.1g.10gb","command":["` + strings.Repeat("z", 200_000) + `"]}`, status: 422, code: "invalid"},
		"a label of many kilo": {body: `{"name":"x","offering":"h100-80gb.1g.10gb","labels":{"k":"` + strings.Repeat("z", 70_000) + `"}}`, status: 422, code: "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.method == "" {
				tc.method, tc.path = http.MethodPost, "/v1/instances"
			}
			if tc.headers == nil {
				tc.headers = ok
			}
			var body any
			if tc.body != "" {
				body = []byte(tc.body)
			}
			r, err := c.Do(t.Context(), tc.method, tc.path, body, tc.headers(tc.body)...)
			require.NoError(t, err)
			requireProblem(t, r, tc.status, tc.code)
			if tc.field != "" {
				require.Contains(t, string(r.Raw), `"`+tc.field+`"`, "the field is named")
			}
		})
	}

	t.Run("a key used twice", func(t *testing.T) {
		first, err := c.Do(t.Context(), http.MethodPost, "/v1/instances", []byte(good), key...)
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, first.Status, "%s", first.Raw)
		again, err := c.Do(t.Context(), http.MethodPost, "/v1/instances", []byte(good), key...)
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, again.Status)
		require.Equal(t, first.Str("id"), again.Str("id"))
		require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
		other, err := c.Do(t.Context(), http.MethodPost, "/v1/instances", []byte(strings.Replace(good, `"x"`, `"y"`, 1)), key...)
		require.NoError(t, err)
		requireProblem(t, other, http.StatusConflict, "idempotency_mismatch")
		list, err := c.All(t.Context(), "/v1/instances")
		require.NoError(t, err)
		require.Len(t, list, 1, "of all the requests above one had an effect")
	})

	t.Run("a key used by ten at once", func(t *testing.T) {
		ids := make([]string, 10)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				r, err := c.Do(t.Context(), http.MethodPost, "/v1/instances", []byte(good), "Idempotency-Key", "at-once")
				if err == nil && r.Status == http.StatusCreated {
					ids[i] = r.Str("id")
				}
			})
		}
		wg.Wait()
		for _, id := range ids {
			require.NotEmpty(t, id)
			require.Equal(t, ids[0], id)
		}
	})

	t.Run("tokens", func(t *testing.T) {
		for name, token := range map[string]string{
			"random": "nonsense", "alg none": "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJ1c3JfMSJ9.", "tampered": tamper(c.Token), "truncated": c.Token[:len(c.Token)-4],
			"a key with a wrong checksum": "weir_o_" + strings.Repeat("a", 36), "spaces": "a b", "very long": strings.Repeat("a", 6000),
		} {
			r, err := rest.New(s.URL).As(token).Get(t.Context(), "/v1/instances")
			require.NoError(t, err, name)
			requireProblem(t, r, http.StatusUnauthorized, "unauthenticated")
		}
	})
	requireSound(t, s)
}

// tamper changes the payload of a token and keeps its signature.
func tamper(token string) string {
	parts := strings.Split(token, ".")
	b := []byte(parts[1])
	b[len(b)/2] ^= 1
	return parts[0] + "." + string(b) + "." + parts[2]
}

// requireProblem checks the shape that every error has.
func requireProblem(t *testing.T, r *rest.Response, status int, code string) {
	t.Helper()
	require.Equal(t, status, r.Status, "%s", r.Raw)
	require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"), "%s", r.Raw)
	if code != "" {
		require.Equal(t, code, r.Str("code"), "%s", r.Raw)
	}
	for _, f := range []string{"type", "title", "detail", "request_id"} {
		require.NotEmpty(t, r.Str(f), "%s of %s", f, r.Raw)
	}
	require.EqualValues(t, status, r.JSON["status"])
	require.Equal(t, r.Str("request_id"), r.Header.Get("X-Request-Id"))
	for _, leak := range []string{"goroutine", "pq:", "SQLSTATE", ".go:", "openapi3"} {
		require.False(t, bytes.Contains(r.Raw, []byte(leak)), "internals leak: %s", r.Raw)
	}
}
