package app_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

func TestTwoAtOnceWithOneKeyAreOneEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node("h100-80gb-sxm5", 8)
	org := b.org()
	for range 10 {
		key := newKey(org)
		var mu sync.Mutex
		var made []string
		var replays []string
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				i, err := b.rentWith(key, org, slice)
				mu.Lock()
				defer mu.Unlock()
				var r *domain.Replay
				switch {
				case err == nil:
					made = append(made, `{"id":"`+i.ID+`"}`)
				case errors.As(err, &r):
					replays = append(replays, string(r.JSON))
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Len(t, made, 1)
		require.Len(t, replays, 7)
		for _, r := range replays {
			require.Equal(t, made[0], r)
		}
	}
	u, err := b.app.LimitUsage(t.Context(), org)
	require.NoError(t, err)
	require.Equal(t, int64(10), u.Instances)
}

func TestKeysOutliveTheWriterAndRefusalsAreForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node("h100-80gb-sxm5", 1)
	none := int64(0)
	org := b.org(func(l *domain.Limits) { l.Instances = &none })
	key := newKey(org)
	_, err := b.rentWith(key, org, slice)
	require.ErrorIs(t, err, fault.QuotaExceeded)
	b.setLimits(domain.Limits{Org: org})
	i, err := b.rentWith(key, org, slice)
	require.NoError(t, err, "a refusal is not remembered")

	for range 2 {
		_, err = b.rentWith(key, org, slice)
		var r *domain.Replay
		require.ErrorAs(t, err, &r)
		require.Equal(t, 201, r.Status)
		require.JSONEq(t, `{"id":"`+i.ID+`"}`, string(r.JSON))
		other := key
		other.Body[0]++
		_, err = b.rentWith(other, org, slice)
		require.ErrorIs(t, err, fault.IdempotencyMismatch)
		b.restart()
	}
	foreign := key
	foreign.Org = b.org()
	_, err = b.rentWith(foreign, foreign.Org, slice)
	require.NoError(t, err, "another org's key is another key")
}
