package tenant_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
)

func (b *bundle) refresh(token string) (tenantapi.Tokens, error) {
	return b.refreshIn(b.t.Context(), token)
}

func (b *bundle) refreshIn(ctx context.Context, token string) (tenantapi.Tokens, error) {
	r, err := b.anybody().RefreshSessionWithResponse(ctx, tenantapi.Refresh{RefreshToken: token})
	if err != nil {
		return tenantapi.Tokens{}, err
	}
	if r.JSON200 == nil {
		return tenantapi.Tokens{}, refusal(r.StatusCode(), r.Body, r.HTTPResponse)
	}
	return *r.JSON200, nil
}

func TestRefreshRotates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	token := p.login.RefreshToken
	for range 5 {
		b.clk.Advance(9 * time.Minute)
		next, err := b.refresh(token)
		require.NoError(t, err)
		require.NotEqual(t, token, next.RefreshToken)
		who, err := b.authenticate(next.AccessToken)
		require.NoError(t, err)
		require.Equal(t, p.actor, who, "the same session goes on")
		token = next.RefreshToken
	}
	_, err := b.authenticate(p.login.AccessToken)
	require.Equal(t, fault.Unauthenticated, code(err), "the first access token has expired by now")
}

func TestReuseEndsTheFamily(t *testing.T) {
	t.Parallel()
	b := setupReal(t)
	p := b.signUp()
	other, err := b.logIn(p.login.User.Email, goodPassword)
	require.NoError(t, err)
	second, err := b.refresh(p.login.RefreshToken)
	require.NoError(t, err)
	third, err := b.refresh(second.RefreshToken)
	require.NoError(t, err)

	_, err = b.refresh(p.login.RefreshToken) // the thief, or the victim after the thief
	require.Equal(t, fault.Unauthenticated, code(err))
	for _, token := range []string{second.RefreshToken, third.RefreshToken} {
		_, err = b.refresh(token)
		require.Equal(t, fault.Unauthenticated, code(err), "the whole family is dead")
	}
	_, err = b.authenticate(third.AccessToken)
	require.Equal(t, fault.Unauthenticated, code(err))
	_, err = b.authenticate(other.AccessToken)
	require.NoError(t, err, "another login is another family")
	var reason string
	require.NoError(t, b.admin.QueryRow(`SELECT end_reason FROM tenant.session WHERE id = $1`, p.actor.Session).Scan(&reason))
	require.Equal(t, "refresh_reuse", reason)
}

// A thief that hangs up at once does not stop the family's end.
func TestReuseCountsEvenIfItsSenderHangsUp(t *testing.T) {
	t.Parallel()
	b := setupReal(t)
	p := b.signUp()
	second, err := b.refresh(p.login.RefreshToken)
	require.NoError(t, err)
	tx, err := b.admin.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.Exec(`SELECT 1 FROM tenant.session WHERE id = $1 FOR UPDATE`, p.actor.Session) // holds the thief up
	require.NoError(t, err)
	ctx, hangUp := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer hangUp()
	_, err = b.refreshIn(ctx, p.login.RefreshToken)
	require.Error(t, err)
	require.NoError(t, tx.Rollback())
	require.Eventually(t, func() bool {
		_, err := b.authenticate(second.AccessToken)
		return code(err) == fault.Unauthenticated
	}, 5*time.Second, 20*time.Millisecond)
}

// Two requests at once for one token are a client with two tabs: one wins, the others get
// a conflict and nothing else, and the session lives.
func TestRacingRefreshesEndNothing(t *testing.T) {
	t.Parallel()
	b := setupReal(t)
	p := b.signUp()
	token := p.login.RefreshToken
	for range 20 {
		var mu sync.Mutex
		var won []tenantapi.Tokens
		var lost []error
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				<-start
				got, err := b.refresh(token)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					lost = append(lost, err)
					return
				}
				won = append(won, got)
			})
		}
		close(start)
		wg.Wait()
		require.LessOrEqual(t, len(won), 1, "a token is exchanged once")
		reused := false
		for _, err := range lost {
			switch code(err) {
			case fault.Conflict:
			case fault.Unauthenticated:
				reused = true // it arrived after the winner was through: that is a reuse
			default:
				t.Fatalf("unexpected: %v", err)
			}
		}
		if reused {
			p = b.signUp()
			token = p.login.RefreshToken
			continue
		}
		require.Len(t, won, 1)
		_, err := b.authenticate(won[0].AccessToken)
		require.NoError(t, err, "a race is not a reuse: the session lives")
		token = won[0].RefreshToken
	}
}

func TestRefreshTokensExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	b.clk.Advance(7*24*time.Hour + time.Second)
	_, err := b.refresh(p.login.RefreshToken)
	require.Equal(t, fault.Unauthenticated, code(err), "a pause of more than a week")

	l, err := b.logIn(p.login.User.Email, goodPassword)
	require.NoError(t, err)
	token, refreshed := l.RefreshToken, 0
	for range 12 {
		b.clk.Advance(3 * 24 * time.Hour)
		next, err := b.refresh(token)
		if err != nil {
			require.Equal(t, fault.Unauthenticated, code(err))
			break
		}
		token, refreshed = next.RefreshToken, refreshed+1
	}
	require.Equal(t, 9, refreshed, "30 days are the end of a login, however often it is refreshed")
}

func TestNonsenseRefreshTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	for _, token := range []string{"nonsense", "wrt_", p.login.RefreshToken + "x", p.login.RefreshToken[:46], "wrt_" + p.login.RefreshToken[5:] + "A", p.login.AccessToken[:500]} {
		_, err := b.refresh(token)
		require.Equal(t, fault.Unauthenticated, code(err), token)
	}
	_, err := b.authenticate(p.login.RefreshToken)
	require.Equal(t, fault.Unauthenticated, code(err), "a refresh token is no access token")
	_, err = b.refresh(p.login.RefreshToken)
	require.NoError(t, err)
}
