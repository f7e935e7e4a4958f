package spec

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/authz"
)

func TestEveryPublicDocumentIsMerged(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../../openapi/public/*.yaml")
	require.NoError(t, err)
	var want, got []string
	for _, f := range files {
		want = append(want, strings.TrimSuffix(filepath.Base(f), ".yaml"))
	}
	for _, s := range sources {
		got = append(got, s.service)
	}
	require.ElementsMatch(t, want, got, "add the new document to sources.go")
}

func TestMergedDocument(t *testing.T) {
	t.Parallel()
	raw, err := Merge()
	require.NoError(t, err)
	again, err := Merge()
	require.NoError(t, err)
	require.True(t, bytes.Equal(raw, again), "the document is the same each time")
	require.NotContains(t, string(raw), "common.yaml")
	require.NotContains(t, string(raw), "x-go-type")
	require.NotContains(t, string(raw), "/internal/")

	doc, err := openapi3.NewLoader().LoadFromData(raw)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	n := 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			n++
			rule, ok := authz.Table[op.OperationID]
			require.True(t, ok, "%s %s: %s has no rule", method, path, op.OperationID)
			require.Equal(t, rule.Who.Public(), op.Security != nil && len(*op.Security) == 0, op.OperationID)
		}
	}
	routes, err := Routes()
	require.NoError(t, err)
	gatewayDoc, err := sources[len(sources)-1].doc()
	require.NoError(t, err)
	own := 0
	for _, item := range gatewayDoc.Paths.Map() {
		own += len(item.Operations())
	}
	require.Equal(t, n, len(routes)+own, "every operation is routed once")
}

func TestNamesThatClashAreToldApart(t *testing.T) {
	t.Parallel()
	a := &part{service: "a", rename: map[string]string{}, doc: object{"components": object{"schemas": object{"X": "one", "Same": "s"}}}}
	b := &part{service: "b", rename: map[string]string{}, doc: object{"components": object{"schemas": object{"X": "two", "Same": "s"}}}}
	nameApart([]*part{a, b})
	require.Equal(t, map[string]string{"schemas/X": "AX", "schemas/Same": "Same"}, a.rename)
	require.Equal(t, "BX", b.rename["schemas/X"])
	require.Equal(t, object{"$ref": "#/components/schemas/AX"}, a.refer(object{"$ref": "#/components/schemas/X", "x-go-type": "T"}, b))
	require.Equal(t, object{"$ref": "#/components/schemas/BX"}, a.refer(object{"$ref": "../common.yaml#/components/schemas/X"}, b))
}
