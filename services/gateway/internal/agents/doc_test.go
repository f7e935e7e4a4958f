package agents

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// TestRoutesAreTheProtocol holds the routes and the document together.
func TestRoutesAreTheProtocol(t *testing.T) {
	t.Parallel()
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	doc, err := loader.LoadFromFile("../../../../openapi/agent/v1.yaml")
	require.NoError(t, err)
	want := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			want[method+" "+path] = op.Tags[0]
		}
	}
	got := map[string]string{"GET " + tunnelPath: "gateway"}
	for _, r := range routes {
		got[r.method+" "+r.path] = r.service
	}
	require.Equal(t, want, got)
}
