package httpx_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/mesh"
)

func TestQueries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, ok := range []string{"", "limit=1", "limit=200&live=true&ratio=0.5", "state=new&state=old", "by=1,2", "since=2026-01-31T12:00:00Z"} {
		require.Equal(t, 200, b.do(t, member, "GET", "/v1/things?"+ok, "").Code, ok)
	}
	for query, want := range map[string]string{
		"limit=0":                       "limit must be at least 1",
		"limit=201":                     "limit must be at most 200",
		"limit=-5":                      "limit must be at least 1",
		"limit=":                        "limit must be a whole number",
		"limit=ten":                     "limit must be a whole number",
		"limit=1.5":                     "limit must be a whole number",
		"limit=99999999999999999999":    "limit must be a whole number",
		"limit=1&limit=2":               "limit was given more than once",
		"ratio=NaN":                     "ratio must be a number",
		"ratio=Infinity":                "ratio must be a number",
		"ratio=1e999":                   "ratio must be a number",
		"live=yes":                      "live must be true or false",
		"since=yesterday":               "since must be an RFC 3339 time such as 2026-01-31T12:00:00Z",
		"since=%00":                     "since contains characters that are not text",
		"state=new&state=x":             "state[1] must be one of new, old",
		"by=1,x":                        "by[1] must be a whole number",
		"by=1,2,3":                      "by must have at most 2 entries",
		"Limit=1":                       "Limit is not a known query parameter",
		"wait=true":                     "wait is not a known query parameter",
		"x=%zz":                         "query is not a well-formed query string",
		"a;b":                           "query is not a well-formed query string",
		strings.Repeat("k", 100) + "=1": strings.Repeat("k", 64) + "… is not a known query parameter",
	} {
		a := b.do(t, member, "GET", "/v1/things?"+query, "")
		require.Equal(t, "invalid", a.problem.Code, query)
		require.Len(t, a.problem.Errors, 1, query)
		require.Equal(t, want, a.problem.Errors[0].Field+" "+a.problem.Errors[0].Message, query)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	post := func(body string, header ...string) answer {
		return b.do(t, member, "POST", "/v1/things", body, append([]string{"Idempotency-Key", "k"}, header...)...)
	}
	for _, ok := range []string{
		`{"name":"a","size":8}`, ` {"name":"a","size":1.0} `, `{"name":"a","size":1,"price":0.000001,"flag":false,"labels":{"x":"y"},"tags":["a","b"]}`,
		`{"name":"a","size":1,"kind":null,"parts":null}`, // null of an optional field is absence
		`{"name":"a","size":1,"parts":[{"n":1},{"n":2}],"at":"2026-01-31T12:00:00+08:00"}`,
	} {
		require.Equal(t, 200, post(ok).Code, ok)
	}
	for body, want := range map[string]string{
		``:                               "body is required",
		`  `:                             "body is required",
		`{`:                              "body is not valid JSON (near byte 1)",
		`{"name":"a","size":}`:           "body is not valid JSON (near byte 19)",
		`{"name":"a","size":1} x`:        "body is not valid JSON (near byte 22)",
		`{"name":"a","size":1}{}`:        "body is not valid JSON (near byte 22)",
		`{"name":"a","size":NaN}`:        "body is not valid JSON (near byte 19)",
		`{'name':'a'}`:                   "body is not valid JSON (near byte 1)",
		"{\"name\":\"\xff\",\"size\":1}": "body is not valid UTF-8",
		`{"name":"\u0000","size":1}`:     "name must not contain the character U+0000",
		`{"name":"a","size":1,"labels":{"\u0000":"x"}}`:     "labels has a name with the character U+0000",
		strings.Repeat("[", 100) + strings.Repeat("]", 100): "body nests too deep",
		`[]`:                                                    "body must be an object",
		`null`:                                                  "body must not be null",
		`"x"`:                                                   "body must be an object",
		`{"size":1}`:                                            "name is required",
		`{"name":null,"size":1}`:                                "name must be 1 to 10 small letters",
		`{"name":7,"size":1}`:                                   "name must be text",
		`{"name":"UP","size":1}`:                                "name must be 1 to 10 small letters",
		`{"name":"a","size":0}`:                                 "size must be at least 1",
		`{"name":"a","size":9}`:                                 "size must be at most 8",
		`{"name":"a","size":-1}`:                                "size must be at least 1",
		`{"name":"a","size":1.5}`:                               "size must be a whole number",
		`{"name":"a","size":"1"}`:                               "size must be a whole number",
		`{"name":"a","size":null}`:                              "size must not be null",
		`{"name":"a","size":1,"price":0}`:                       "price must be more than 0",
		`{"name":"a","size":1,"price":1e999}`:                   "price must be a number",
		`{"name":"a","size":1,"price":1e300}`:                   "price must be at most 1000000",
		`{"name":"a","size":1,"at":"2026-02-30"}`:               "at must be an RFC 3339 time such as 2026-01-31T12:00:00Z",
		`{"name":"a","size":1,"kind":"half"}`:                   "kind must be one of whole, mig",
		`{"name":"a","size":1,"flag":1}`:                        "flag must be true or false",
		`{"name":"a","size":1,"Name":"b"}`:                      "Name is not a known field",
		`{"name":"a","size":1,"extra":{}}`:                      "extra is not a known field",
		`{"name":"a","name":"b","size":1}`:                      "name is given twice",
		`{"name":"a","size":1,"labels":{"x":"123456"}}`:         "labels.x must have at most 5 characters",
		`{"name":"a","size":1,"labels":{"a":"","b":"","c":""}}`: "labels must have at most 2 fields",
		`{"name":"a","size":1,"parts":[]}`:                      "parts must have at least 1 entries",
		`{"name":"a","size":1,"parts":[{"n":1},{"m":1,"n":1}]}`: "parts[1].m is not a known field",
		`{"name":"a","size":1,"parts":[{}]}`:                    "parts[0].n is required",
		`{"name":"a","size":1,"parts":{}}`:                      "parts must be a list",
		`{"name":"a","size":1,"tags":["x","x"]}`:                "tags must not have an entry twice",
		`{"name":"a","size":1,"owner":"me"}`:                    "owner cannot be set",
	} {
		a := post(body)
		require.Equal(t, "invalid", a.problem.Code, body)
		require.Len(t, a.problem.Errors, 1, body)
		require.Equal(t, want, a.problem.Errors[0].Field+" "+a.problem.Errors[0].Message, body)
	}

	a := post(`{"name":"","size":99,"zzz":1}`)
	require.Len(t, a.problem.Errors, 4-1, "all at once, by field: %v", a.problem.Errors)
	require.Equal(t, "name must be 1 to 10 small letters. 2 more in errors.", a.problem.Detail)

	many := `{"name":"a","size":1`
	for i := range 100 {
		many += fmt.Sprintf(`,"x%d":1`, i)
	}
	require.Len(t, post(many+"}").problem.Errors, 20)
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const body = `{"name":"a","size":1}`
	first := func(a answer) string {
		require.Equal(t, "invalid", a.problem.Code)
		return a.problem.Errors[0].Field + " " + a.problem.Errors[0].Message
	}
	require.Equal(t, "Idempotency-Key is required", first(b.do(t, member, "POST", "/v1/things", body)))
	require.Equal(t, "Idempotency-Key must not be empty", first(b.do(t, member, "POST", "/v1/things", body, "Idempotency-Key", "")))
	require.Equal(t, "Idempotency-Key must have at most 255 characters", first(b.do(t, member, "POST", "/v1/things", body, "Idempotency-Key", strings.Repeat("k", 256))))
	require.Equal(t, "Idempotency-Key must be printable ASCII", first(b.do(t, member, "POST", "/v1/things", body, "Idempotency-Key", "a\xff")))

	for _, ok := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON"} {
		require.Equal(t, 200, b.do(t, member, "POST", "/v1/things", body, "Idempotency-Key", "k", "Content-Type", ok).Code)
	}
	for _, bad := range []string{"text/plain", "application/x-www-form-urlencoded", "application/yaml", ";;"} {
		require.Equal(t, "Content-Type must be application/json", first(b.do(t, member, "POST", "/v1/things", body, "Idempotency-Key", "k", "Content-Type", bad)))
	}
	require.Equal(t, "Content-Encoding is not supported: send the body as it is", first(b.do(t, member, "POST", "/v1/things", body, "Idempotency-Key", "k", "Content-Encoding", "gzip")))
}

func TestBodiesWhereNoneBelongs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, 200, b.do(t, member, "POST", "/v1/things/x/stop", "{}").Code)
	a := b.do(t, member, "POST", "/v1/things/x/stop", `{"force":true}`)
	require.Equal(t, "invalid", a.problem.Code, "refused, not ignored")

	require.Equal(t, 200, b.do(t, member, "PATCH", "/v1/things/x", "").Code, "an optional body may be absent")
	require.Equal(t, 200, b.do(t, member, "PATCH", "/v1/things/x", `{"note":null}`).Code, "a nullable field keeps its null")
	require.Equal(t, `{"note":null}`, b.seen.body)
}

func TestLargeBodies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	big := `{"name":"` + strings.Repeat("a", 1<<20) + `"}`
	a := b.do(t, member, "POST", "/v1/things", big, "Idempotency-Key", "k")
	require.Equal(t, 413, a.Code)
	require.Equal(t, "too_large", a.problem.Code)

	token, err := b.minter.Mint("things", member)
	require.NoError(t, err)
	r := httptest.NewRequest("POST", "/v1/things", io.NopCloser(strings.NewReader(big))).WithContext(mesh.WithPeer(t.Context(), "gateway"))
	r.Header.Set("Authorization", "Bearer "+token)
	r.ContentLength = -1 // chunked: it does not say how much comes
	require.Equal(t, 413, b.serve(t, r).Code)
}
