package password_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/tenant/internal/password"
)

var cheap = password.Cost{MemoryKiB: 64, Iterations: 1}

func TestHashAndCheck(t *testing.T) {
	t.Parallel()
	p, err := password.New(cheap, 2, 4)
	require.NoError(t, err)
	hash, err := p.Hash(t.Context(), "correct horse")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=1,p=1$"), hash)
	other, err := p.Hash(t.Context(), "correct horse")
	require.NoError(t, err)
	require.NotEqual(t, hash, other, "salted")
	for pw, want := range map[string]bool{"correct horse": true, "correct horsf": false, "": false, "correct horse\x00": false} {
		ok, err := p.Check(t.Context(), pw, hash)
		require.NoError(t, err)
		require.Equal(t, want, ok, "%q", pw)
	}
	require.NoError(t, p.CheckNothing(t.Context(), "whatever"))
	_, err = p.Check(t.Context(), "x", "$2a$10$notargon")
	require.Error(t, err)
}

// A flood runs two at a time, lets a few wait and refuses the rest at once.
func TestAFloodIsRefused(t *testing.T) {
	t.Parallel()
	p, err := password.New(password.Cost{MemoryKiB: 8 * 1024, Iterations: 3}, 2, 4)
	require.NoError(t, err)
	var done, refused atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			switch err := p.CheckNothing(t.Context(), "guess"); {
			case err == nil:
				done.Add(1)
			case fault.From(err).Code == fault.Unavailable && fault.From(err).RetryAfter > 0:
				refused.Add(1)
			default:
				t.Errorf("unexpected: %v", err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 200, done.Load()+refused.Load())
	require.Positive(t, refused.Load())
	require.GreaterOrEqual(t, done.Load(), int64(6), "runners and waiters are served")
	require.NoError(t, p.CheckNothing(t.Context(), "guess"), "the pool recovers")
}

func TestAWaiterMayLeave(t *testing.T) {
	t.Parallel()
	p, err := password.New(cheap, 1, 1)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // the runner may be free, then either outcome is right
		if err := p.CheckNothing(ctx, "x"); err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	require.NoError(t, p.CheckNothing(t.Context(), "x"), "no place leaked")
}
