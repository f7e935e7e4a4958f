package guess_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/tenant/internal/guess"
)

func setup(l guess.Limits) (*guess.Limiter, *clock.Fake) {
	clk := clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return guess.New(l, clk), clk
}

// trust.md: 1,000 tries, at most 10 checked.
func TestAThousandTriesAtOnce(t *testing.T) {
	t.Parallel()
	l, clk := setup(guess.DefaultLimits)
	var checked atomic.Int64
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			if _, err := l.Take(t.Context(), "ada@example.com", fmt.Sprintf("10.0.%d.%d", i/250, i%250)); err == nil {
				checked.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 10, checked.Load())
	_, err := l.Take(t.Context(), "ada@example.com", "10.9.9.9")
	require.ErrorIs(t, err, fault.RateLimited)
	require.Equal(t, 10*time.Minute, fault.From(err).RetryAfter)
	_, err = l.Take(t.Context(), "bob@example.com", "10.9.9.9")
	require.NoError(t, err, "another account is not locked")
	clk.Advance(10 * time.Minute)
	_, err = l.Take(t.Context(), "ada@example.com", "10.9.9.9")
	require.NoError(t, err)
}

func TestTheWindowSlides(t *testing.T) {
	t.Parallel()
	l, clk := setup(guess.Limits{Account: 3, Address: 100, Total: 100, Window: time.Minute})
	passed := 0
	for range 240 { // one try a second for four minutes
		if _, err := l.Take(t.Context(), "a@b", ""); err == nil {
			passed++
		}
		clk.Advance(time.Second)
	}
	require.LessOrEqual(t, passed, 12, "three in any minute, never six around a boundary")
	require.GreaterOrEqual(t, passed, 12)
}

func TestAddressesAndTotal(t *testing.T) {
	t.Parallel()
	l, _ := setup(guess.Limits{Account: 100, Address: 2, Total: 5, Window: time.Minute})
	take := func(email, address string) error { _, err := l.Take(t.Context(), email, address); return err }
	require.NoError(t, take("a@b", "2001:db8::1"))
	require.NoError(t, take("b@b", "2001:db8::2"))
	require.ErrorIs(t, take("c@b", "2001:db8::3"), fault.RateLimited, "one /64 is one subscriber")
	require.NoError(t, take("c@b", "2001:db8:0:1::3"))
	require.NoError(t, take("d@b", "192.0.2.1"))
	require.NoError(t, take("e@b", "::ffff:192.0.2.1"))
	require.ErrorIs(t, take("f@b", "198.51.100.1"), fault.RateLimited, "all together")
}

func TestASuccessIsNoGuess(t *testing.T) {
	t.Parallel()
	l, _ := setup(guess.Limits{Account: 2, Address: 2, Total: 2, Window: time.Minute})
	for range 50 {
		refund, err := l.Take(t.Context(), "a@b", "192.0.2.1")
		require.NoError(t, err)
		refund()
		refund() // twice is once
	}
	_, err := l.Take(t.Context(), "a@b", "192.0.2.1")
	require.NoError(t, err)
	refund, err := l.Take(t.Context(), "a@b", "192.0.2.1")
	require.NoError(t, err)
	refund()
	_, err = l.Take(t.Context(), "a@b", "192.0.2.1")
	require.NoError(t, err, "a refund gives back one try, not two")
	_, err = l.Take(t.Context(), "a@b", "192.0.2.1")
	require.ErrorIs(t, err, fault.RateLimited)
}
