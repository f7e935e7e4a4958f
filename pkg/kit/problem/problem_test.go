package problem_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/problem"
)

var update = flag.Bool("update", false, "rewrite docs/status-codes.md")

func write(t *testing.T, f *fault.Error) *http.Response {
	t.Helper()
	rec := httptest.NewRecorder()
	require.NoError(t, problem.Write(rec, f, "req_1"))
	return rec.Result()
}

func TestEveryCodeCrossesTheWire(t *testing.T) {
	t.Parallel()
	for _, m := range problem.Codes {
		f := &fault.Error{Code: m.Code, Public: "Sentence.", Fields: []fault.Field{{Field: "a", Message: "b"}}, Extra: map[string]any{"limit": 3}, Cause: errors.New("inner secret")}
		resp := write(t, f)
		require.Equal(t, m.Status, resp.StatusCode)
		require.Equal(t, problem.ContentType, resp.Header.Get("Content-Type"))
		err := problem.Read(resp)
		require.ErrorIs(t, err, m.Code)
		got := fault.From(err)
		require.Equal(t, "Sentence.", got.Public)
		require.Equal(t, f.Fields, got.Fields)
		require.Equal(t, json.RawMessage("3"), got.Extra["limit"])
		require.Equal(t, m.Status == 429 || m.Status == 503, got.RetryAfter == 2*time.Second)
		require.NotContains(t, err.Error(), "inner secret")
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	f := fault.New(fault.NoCapacity, "No room.").With("alternatives", []string{}).With("status", 200)
	b, err := json.Marshal(problem.Document(f, "req_1"))
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"/docs/errors#no_capacity","title":"No room for this now","status":409,"detail":"No room.",
		"code":"no_capacity","request_id":"req_1","alternatives":[]}`, string(b), "extra members never replace the standard ones")

	resp := write(t, &fault.Error{Code: "made_up"})
	require.Equal(t, 500, resp.StatusCode)

	resp = write(t, &fault.Error{Code: fault.RateLimited, RetryAfter: 1200 * time.Millisecond})
	require.Equal(t, "2", resp.Header.Get("Retry-After"))

	rec := httptest.NewRecorder()
	require.Error(t, problem.Write(rec, fault.New(fault.Conflict, "x").With("bad", func() {}), "req_1"))
	require.Equal(t, 409, rec.Code, "a member that JSON cannot say costs only that member")
}

func TestAnswersThatAreNoProblem(t *testing.T) {
	t.Parallel()
	require.NoError(t, problem.Check(204, nil, nil))
	require.ErrorIs(t, problem.Check(502, []byte("<html>"), nil), fault.Unavailable)
	require.ErrorIs(t, problem.Check(500, []byte("{"), nil), fault.Internal)
	require.ErrorIs(t, problem.Check(404, []byte(`{"code":"no_such_code"}`), nil), fault.Internal)
	require.ErrorIs(t, problem.Check(302, nil, nil), fault.Internal)
}

func TestTransport(t *testing.T) {
	t.Parallel()
	require.NoError(t, problem.Transport("tenant", nil))
	require.ErrorIs(t, problem.Transport("tenant", errors.New("dial")), fault.Unavailable)
	require.ErrorIs(t, problem.Transport("tenant", fmt.Errorf("x: %w", context.DeadlineExceeded)), fault.Unavailable)
	err := problem.Transport("tenant", fmt.Errorf("x: %w", context.Canceled))
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, fault.Unavailable)
}

// TestStatusCodesPage keeps docs/status-codes.md equal to the table.
func TestStatusCodesPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Status codes\n\nGenerated from `pkg/kit/problem/codes.go` by `go test ./kit/problem -update` (in `pkg`). Every refusal is `application/problem+json`\n" +
		"with `type, title, status, detail, code, request_id`; programs compare `code`, never `detail`.\n\n| code | status | means | the caller | the operator |\n|---|---|---|---|---|\n")
	seen := map[fault.Code]bool{}
	for _, m := range problem.Codes {
		require.False(t, seen[m.Code], "%s is listed twice", m.Code)
		seen[m.Code] = true
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s | %s |\n", m.Code, m.Status, m.Title, m.Caller, m.Operator)
	}
	const page = "../../../docs/status-codes.md"
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(got), "run: go test ./kit/problem -update")
}
