package lru_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/services/gateway/internal/lru"
)

func TestForgetsTheLeastUsed(t *testing.T) {
	t.Parallel()
	m := lru.New[string, int](2)
	m.Put("a", 1)
	m.Put("b", 2)
	_, _ = m.Get("a")
	m.Put("c", 3)
	require.Equal(t, 2, m.Len())
	_, ok := m.Get("b")
	require.False(t, ok)
	m.Put("a", 9)
	v, ok := m.Get("a")
	require.True(t, ok)
	require.Equal(t, 9, v)
	require.Equal(t, 9, m.GetOrPut("a", func() int { t.Fatal("it is there"); return 0 }))
	require.Equal(t, 4, m.GetOrPut("d", func() int { return 4 }))
	m.Delete("d")
	m.Delete("never there")
	require.Equal(t, 1, m.Len())
}
