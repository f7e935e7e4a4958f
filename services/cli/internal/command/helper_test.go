package command

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/clock"
)

// fixed is a clock that stands.
func fixed(t time.Time) clock.Clock { return clock.NewFake(t) }

// sorted orders the parts of a query.
func sorted(query string) string {
	parts := strings.Split(query, "&")
	slices.Sort(parts)
	return strings.Join(parts, "&")
}

// encode writes v as JSON.
func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}
