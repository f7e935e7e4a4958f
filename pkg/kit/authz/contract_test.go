package authz_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/authz"
)

var update = flag.Bool("update", false, "rewrite docs/authorisation.md")

// operation is one operation of one OpenAPI file.
type operation struct {
	file, method, path string
	*openapi3.Operation
}

func operations(t *testing.T) []operation {
	t.Helper()
	var ops []operation
	files, err := filepath.Glob("../../../openapi/*/*.yaml")
	require.NoError(t, err)
	slices.Sort(files)
	for _, file := range files {
		name := strings.TrimPrefix(filepath.ToSlash(file), "../../../openapi/")
		if strings.HasPrefix(name, "gen/") {
			continue
		}
		loader := openapi3.NewLoader()
		loader.IsExternalRefsAllowed = true
		doc, err := loader.LoadFromFile(file)
		require.NoError(t, err, name)
		if err := doc.Validate(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, path := range doc.Paths.InMatchingOrder() {
			for method, op := range doc.Paths.Value(path).Operations() {
				ops = append(ops, operation{name, method, path, op})
			}
		}
	}
	slices.SortFunc(ops, func(a, b operation) int {
		return strings.Compare(a.file+a.path+a.method, b.file+b.path+b.method)
	})
	require.NotEmpty(t, ops)
	return ops
}

// TestTableIsTheContract holds the table and the documents together, both ways.
func TestTableIsTheContract(t *testing.T) {
	t.Parallel()
	left := maps.Clone(authz.Table)
	seen := map[string]string{}
	for _, op := range operations(t) {
		at := op.file + " " + op.method + " " + op.path
		require.NotEmpty(t, op.OperationID, "%s has no operationId", at)
		require.Empty(t, seen[op.OperationID], "%s: operationId %s is also %s", at, op.OperationID, seen[op.OperationID])
		seen[op.OperationID] = at
		rule, ok := authz.Table[op.OperationID]
		if !ok {
			t.Errorf("%s: %s has no rule in pkg/kit/authz", at, op.OperationID)
			continue
		}
		delete(left, op.OperationID)
		if rule.Object != "" && !strings.Contains(op.path, "{") {
			t.Errorf("%s: the rule names an object, the path has no id", at)
		}
		if rule.Who.Internal() && !strings.HasPrefix(op.file, "internal/") {
			t.Errorf("%s: only services may call it, so it belongs into internal/", at)
		}
		if strings.HasPrefix(op.path, "/internal/") != strings.HasPrefix(op.file, "internal/") {
			t.Errorf("%s: internal/ files describe /internal/ paths and no others", at)
		}
		if strings.HasPrefix(op.path, "/internal/") && rule.Who.Public() {
			t.Errorf("%s: an internal operation that anyone may call", at)
		}
	}
	for id := range left {
		t.Errorf("the rule of %s is for no operation", id)
	}
}

// keyless are the POSTs that take no Idempotency-Key: repeating them is harmless or they
// have no one answer to repeat.
var keyless = regexp.MustCompile(`^/(internal|agent)/|^/v1/auth/|/quotes$|/stop$|/drain$|/exec-tickets$|/clock/|/sim/|/webhooks/`)

// TestContractHabits holds what api.md promises of every operation.
func TestContractHabits(t *testing.T) {
	t.Parallel()
	for _, op := range operations(t) {
		at := op.file + " " + op.method + " " + op.path
		def := op.Responses.Default()
		if def == nil || def.Value.Content.Get("application/problem+json") == nil {
			t.Errorf("%s: the default response must be the common Problem", at)
		}
		key := op.Parameters.GetByInAndName("header", "Idempotency-Key")
		if want := op.Method() == "POST" && !keyless.MatchString(op.path); want != (key != nil) {
			t.Errorf("%s: Idempotency-Key declared: %t, wanted: %t", at, key != nil, want)
		} else if key != nil && !key.Required {
			t.Errorf("%s: Idempotency-Key must be required", at)
		}
		if op.RequestBody != nil {
			for media, m := range op.RequestBody.Value.Content {
				if media != "application/json" {
					t.Errorf("%s: a body of %s is not checked", at, media)
				}
				bounded(t, at, "body", m.Schema, map[*openapi3.Schema]bool{})
			}
		}
		for _, p := range op.Parameters {
			if p.Value.In == "path" && (p.Value.Schema.Value.Pattern != "" || p.Value.Schema.Value.Format != "") {
				t.Errorf("%s: a malformed id must answer like a random one, so {%s} has no form to check", at, p.Value.Name)
			}
		}
	}
}

func (o operation) Method() string { return o.method }

// bounded wants limits on everything a caller can send.
func bounded(t *testing.T, at, field string, ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool) {
	t.Helper()
	s := ref.Value
	if seen[s] {
		return
	}
	seen[s] = true
	switch {
	case s.Type.Is("string"):
		if s.MaxLength == nil && len(s.Enum) == 0 && s.Pattern == "" && s.Format != "date-time" {
			t.Errorf("%s: %s is text without maxLength", at, field)
		}
	case s.Type.Is("integer"), s.Type.Is("number"):
		top := s.Max != nil || s.Format == "int32" || s.Format == "int64"
		if (s.Min == nil || !top) && len(s.Enum) == 0 {
			t.Errorf("%s: %s is a number without minimum, and maximum or format", at, field)
		}
	case s.Type.Is("array"):
		if s.MaxItems == nil {
			t.Errorf("%s: %s is a list without maxItems", at, field)
		}
		bounded(t, at, field+"[]", s.Items, seen)
	case s.Type.Is("object"):
		if s.AdditionalProperties.Schema != nil && s.MaxProps == nil {
			t.Errorf("%s: %s has free names without maxProperties", at, field)
		}
		if s.AdditionalProperties.Schema != nil {
			bounded(t, at, field+".*", s.AdditionalProperties.Schema, seen)
		}
	}
	for name, p := range s.Properties {
		bounded(t, at, field+"."+name, p, seen)
	}
}

// TestAuthorisationPage keeps docs/authorisation.md equal to the table.
func TestAuthorisationPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`# Who may do what

Generated from ` + "`pkg/kit/authz` and `openapi/` by `go test ./kit/authz -update`" + ` (in ` + "`pkg`" + `). The same table decides every request.

- No valid credential where one is needed: 401. A valid one of the wrong kind or role: 403; that an operation exists is public.
- **Object**: the id in the path belongs to one org. Another org's, a random and a malformed id give the same 404.
- An operator has no power inside an org, except where the table says so.
- Service: only that service's own mesh connection, without a user's token. A row of ` + "`internal/`" + ` that names members is called by the gateway on a member's behalf.
`)
	file := ""
	for _, op := range operations(t) {
		rule, ok := authz.Table[op.OperationID]
		if !ok {
			continue // TestTableIsTheContract says so
		}
		if op.file != file {
			file = op.file
			fmt.Fprintf(&b, "\n## %s\n\n| operation | call | who | object |\n|---|---|---|---|\n", file)
		}
		fmt.Fprintf(&b, "| `%s` | `%s %s` | %s | %s |\n", op.OperationID, op.method, op.path, rule.Who, strings.ReplaceAll(rule.Object, "_", " "))
	}
	const page = "../../../docs/authorisation.md"
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(got), "run: go test ./kit/authz -update")
}
