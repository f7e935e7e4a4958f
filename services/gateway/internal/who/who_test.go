package who_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/gateway/internal/limit"
	"github.com/weirhq/weir/services/gateway/internal/who"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// register is who the test says credentials stand for.
type register struct {
	mu    sync.Mutex
	known map[string]actor.Actor
	end   time.Time
	fails error
	asked atomic.Int32
	hold  chan struct{} // answers wait for it when set
}

func (r *register) Authenticate(_ context.Context, credential string) (actor.Actor, time.Time, error) {
	r.asked.Add(1)
	if r.hold != nil {
		<-r.hold
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails != nil {
		return actor.Actor{}, time.Time{}, r.fails
	}
	a, ok := r.known[credential]
	if !ok {
		return actor.Actor{}, time.Time{}, fault.New(fault.Unauthenticated, "no")
	}
	return a, r.end, nil
}

func setup(perSecond int) (*who.Credentials, *register, *clock.Fake) {
	clk := clock.NewFake(start)
	r := &register{known: map[string]actor.Actor{"good": {Kind: actor.User, ID: "usr_1", Org: "org_1", Role: actor.Owner}}}
	return who.NewCredentials(r, limit.NewBuckets(perSecond, clk), clk), r, clk
}

func identify(t *testing.T, c *who.Credentials, authorization string) (actor.Actor, error) {
	t.Helper()
	r := httptest.NewRequest("GET", "/", nil).WithContext(t.Context())
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return c.Identify(r)
}

func TestCredentialIsRememberedForMoments(t *testing.T) {
	t.Parallel()
	c, r, clk := setup(0)
	a, err := identify(t, c, "")
	require.NoError(t, err)
	require.Zero(t, a)
	for range 3 {
		a, err = identify(t, c, "Bearer good")
		require.NoError(t, err)
		require.Equal(t, "usr_1", a.ID)
	}
	require.EqualValues(t, 1, r.asked.Load())

	r.mu.Lock()
	delete(r.known, "good")
	r.mu.Unlock()
	clk.Advance(who.Remembered - time.Millisecond)
	_, err = identify(t, c, "Bearer good")
	require.NoError(t, err)
	clk.Advance(time.Millisecond)
	_, err = identify(t, c, "Bearer good")
	require.ErrorIs(t, err, fault.Unauthenticated, "a revoked credential is out after five seconds")
	_, err = identify(t, c, "Bearer good")
	require.ErrorIs(t, err, fault.Unauthenticated)
	require.EqualValues(t, 2, r.asked.Load(), "a refusal is remembered too")
}

func TestCredentialNeverOutlivesItsEnd(t *testing.T) {
	t.Parallel()
	c, r, clk := setup(0)
	r.end = start.Add(time.Second)
	_, err := identify(t, c, "Bearer good")
	require.NoError(t, err)
	clk.Advance(time.Second)
	_, _ = identify(t, c, "Bearer good")
	require.EqualValues(t, 2, r.asked.Load())
}

func TestTroubleIsNotRemembered(t *testing.T) {
	t.Parallel()
	c, r, _ := setup(0)
	r.fails = fault.Wrap(fault.Unavailable, "away", errors.New("dial"))
	_, err := identify(t, c, "Bearer good")
	require.ErrorIs(t, err, fault.Unavailable)
	r.mu.Lock()
	r.fails = nil
	r.mu.Unlock()
	_, err = identify(t, c, "Bearer good")
	require.NoError(t, err)
}

func TestOneQuestionForManyRequests(t *testing.T) {
	t.Parallel()
	c, r, _ := setup(0)
	r.hold = make(chan struct{})
	impatient, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			req := httptest.NewRequest("GET", "/", nil).WithContext(t.Context())
			if i == 0 {
				req = req.WithContext(impatient)
			}
			req.Header.Set("Authorization", "Bearer good")
			a, err := c.Identify(req)
			if err != nil || a.ID != "usr_1" {
				t.Errorf("got %v, %v", a, err)
			}
		})
	}
	require.Eventually(t, func() bool { return r.asked.Load() > 0 }, 5*time.Second, time.Millisecond)
	cancel()
	close(r.hold)
	wg.Wait()
	require.LessOrEqual(t, r.asked.Load(), int32(2), "a request that came after the answer finds it in memory")
}

func TestGuessingIsSlowedDown(t *testing.T) {
	t.Parallel()
	c, r, clk := setup(5) // the auth class: 1 per second, 2 at once
	for _, guess := range []string{"a", "b"} {
		_, err := identify(t, c, "Bearer "+guess)
		require.ErrorIs(t, err, fault.Unauthenticated)
	}
	_, err := identify(t, c, "Bearer c")
	require.ErrorIs(t, err, fault.RateLimited)
	require.EqualValues(t, 2, r.asked.Load(), "the tenant service is spared")
	clk.Advance(time.Second)
	_, err = identify(t, c, "Bearer good")
	require.NoError(t, err)
	_, err = identify(t, c, "Bearer "+strings.Repeat("x", 9000))
	require.ErrorIs(t, err, fault.Unauthenticated)
	require.EqualValues(t, 3, r.asked.Load(), "too long to be one")
}

func TestTokensAreReusedForAWhile(t *testing.T) {
	t.Parallel()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	clk := clock.NewFake(start)
	tokens := who.NewTokens(authn.NewMinter(key, clk), clk)
	a := actor.Actor{Kind: actor.Node, ID: "nod_1"}
	first, err := tokens.For("inventory", a)
	require.NoError(t, err)
	again, err := tokens.For("inventory", a)
	require.NoError(t, err)
	require.Equal(t, first, again)
	other, err := tokens.For("allocator", a)
	require.NoError(t, err)
	require.NotEqual(t, first, other)

	clk.Advance(authn.Lifetime / 2)
	later, err := tokens.For("inventory", a)
	require.NoError(t, err)
	require.NotEqual(t, first, later)
	got, err := authn.NewVerifier(pub, "inventory", clk).Verify(later)
	require.NoError(t, err)
	require.Equal(t, a, got)
}
