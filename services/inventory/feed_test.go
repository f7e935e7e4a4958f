package inventory_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

type feed struct {
	Cursor string
	Items  []struct {
		Key  string
		Data json.RawMessage
	}
}

func (f feed) nodes(t *testing.T) (nodes []item) {
	t.Helper()
	for _, i := range f.Items {
		var n item
		require.NoError(t, json.Unmarshal(i.Data, &n))
		require.Equal(t, i.Key, n.ID)
		nodes = append(nodes, n)
	}
	return nodes
}

func TestReadersListAndWatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, other := b.enroll("n1").Node, b.enroll("n2").Node
	b.report(one, status("b", 1, card(0, "GPU-0", "l4-24gb")))

	allocator := service("allocator")
	list := do[feed](b, 200, allocator, "GET", "/internal/v1/feed/list?name=nodes", nil)
	nodes := list.nodes(t)
	require.Len(t, nodes, 2)
	for _, n := range nodes {
		require.Len(t, n.GPUs, map[string]int{one: 1, other: 0}[n.ID])
	}

	b.report(other, status("b", 1, card(0, "GPU-1", "l4-24gb")))
	b.report(one, status("b", 2, card(0, "GPU-0", "l4-24gb")))
	next := do[feed](b, 200, allocator, "GET", "/internal/v1/feed?name=nodes&sync=1&after="+url.QueryEscape(list.Cursor), nil)
	nodes = next.nodes(t)
	require.Len(t, nodes, 1, "only what changed")
	require.Equal(t, other, nodes[0].ID)
	require.Equal(t, "ready", nodes[0].State)

	do[problem](b, 403, service("tenant"), "GET", "/internal/v1/feed?name=nodes", nil)
}
