package tenant_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/tenant"
)

func TestSignUpMakesAnOrgWithAProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r, err := b.anybody().SignUpWithResponse(t.Context(), tenantapi.SignUp{
		Email: " Ada@Example.com", Password: goodPassword, Name: "Ada", OrgName: "Analytical Engines", Currency: ptr(tenantapi.USD),
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, r.StatusCode(), "%s", r.Body)
	l := r.JSON201
	require.Equal(t, "ada@example.com", l.User.Email)
	require.False(t, l.User.Operator)
	require.Equal(t, "Analytical Engines", l.Org.Name)
	require.Equal(t, tenantapi.USD, l.Org.Currency)
	require.Equal(t, "UTC", l.Org.TimeZone)
	require.Equal(t, tenantapi.Good, l.Org.Standing)
	require.Equal(t, "default", l.Project.Name)
	require.Equal(t, 600, l.ExpiresIn)
	for kind, s := range map[id.Kind]string{id.User: l.User.ID, id.Org: l.Org.ID, id.Project: l.Project.ID} {
		require.True(t, id.Valid(kind, s), s)
	}
	p := b.enter(*l)
	require.Equal(t, actor.Actor{Kind: actor.User, ID: l.User.ID, Org: l.Org.ID, Role: actor.Owner, Session: p.actor.Session}, p.actor)

	me, err := p.GetMeWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, me.StatusCode(), "%s", me.Body)
	require.Equal(t, l.User, *me.JSON200.User)
	require.Equal(t, *l.Org, *me.JSON200.Org)
	require.Equal(t, tenantapi.Role("owner"), *me.JSON200.Role)
	require.Equal(t, "16", me.JSON200.Limits.Gpue.String())
	require.EqualValues(t, 20, *me.JSON200.Limits.Instances)
	require.Nil(t, me.JSON200.Limits.Vcpus)
	require.Nil(t, me.JSON200.APIKey)
	projects, err := p.ListProjectsWithResponse(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, []tenantapi.Project{*l.Project}, projects.JSON200.Items)
	require.Nil(t, projects.JSON200.NextCursor)
}

func TestAnEMailAddressIsTakenOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var created, taken atomic.Int64
	var wg sync.WaitGroup
	for _, email := range []string{"ada@example.com", "ADA@example.com", "Ada@Example.Com", "ada@EXAMPLE.com"} {
		wg.Go(func() {
			r, err := b.anybody().SignUpWithResponse(t.Context(), tenantapi.SignUp{Email: email, Password: goodPassword, Name: "Ada", OrgName: "O"})
			if err != nil {
				t.Error(err)
				return
			}
			switch r.StatusCode() {
			case http.StatusCreated:
				created.Add(1)
			case http.StatusConflict:
				taken.Add(1)
			default:
				t.Errorf("%d %s", r.StatusCode(), r.Body)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, created.Load())
	require.EqualValues(t, 3, taken.Load())
	var orgs, projects, accounts int
	require.NoError(t, b.admin.QueryRow(`SELECT (SELECT count(*) FROM tenant.org), (SELECT count(*) FROM tenant.project), (SELECT count(*) FROM tenant.account)`).Scan(&orgs, &projects, &accounts))
	require.Equal(t, [3]int{1, 1, 2}, [3]int{orgs, projects, accounts}, "nothing half done; the other account is the operator's")
}

func TestLogIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	l, err := b.logIn("  "+p.login.User.Email, goodPassword)
	require.NoError(t, err)
	require.Equal(t, p.login.User, l.User)
	require.Equal(t, p.login.Org, l.Org)
	require.Equal(t, p.login.Project, l.Project)
	require.NotEqual(t, p.login.AccessToken, l.AccessToken)
	require.NotEqual(t, p.actor.Session, b.enter(l).actor.Session)

	// A wrong password, an unknown address and a disabled account are told apart by nothing.
	_, wrong := b.logIn(p.login.User.Email, "not the password")
	_, unknown := b.logIn("nobody@example.com", goodPassword)
	disabled := b.signUp()
	b.sql(`UPDATE tenant.account SET disabled_at = now() WHERE id = $1`, disabled.login.User.ID)
	_, gone := b.logIn(disabled.login.User.Email, goodPassword)
	require.Equal(t, fault.Unauthenticated, code(wrong))
	for _, other := range []error{unknown, gone} {
		require.Equal(t, fault.From(wrong).Code, fault.From(other).Code)
		require.Equal(t, fault.From(wrong).Public, fault.From(other).Public)
	}
	_, err = b.authenticate(disabled.login.AccessToken)
	require.Equal(t, fault.Unauthenticated, code(err), "disabling ends what is open")

	b.sql(`DELETE FROM tenant.membership WHERE account = $1`, p.login.User.ID)
	_, err = b.logIn(p.login.User.Email, goodPassword)
	require.Equal(t, fault.Forbidden, code(err))
}

func TestTheOperatorActsInNoOrg(t *testing.T) {
	t.Parallel()
	b := setup(t)
	op := b.operator()
	require.Nil(t, op.login.Org)
	require.Nil(t, op.login.Project)
	require.Equal(t, actor.Actor{Kind: actor.User, ID: op.login.User.ID, Operator: true, Session: op.actor.Session}, op.actor)
	me, err := op.GetMeWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, me.StatusCode(), "%s", me.Body)
	require.True(t, me.JSON200.Operator)
	require.Nil(t, me.JSON200.Org)
	require.Nil(t, me.JSON200.Role)
	org, err := op.GetOrgWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, org.StatusCode(), "no tenant powers")
}

func TestLogOutEndsTheSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	other, err := b.logIn(p.login.User.Email, goodPassword)
	require.NoError(t, err)
	for range 2 { // twice is fine while the gateway still remembers the session
		r, err := p.LogOutWithResponse(t.Context())
		require.NoError(t, err)
		require.Equal(t, http.StatusNoContent, r.StatusCode(), "%s", r.Body)
	}
	_, err = b.authenticate(p.login.AccessToken)
	require.Equal(t, fault.Unauthenticated, code(err))
	_, err = b.refresh(p.login.RefreshToken)
	require.Equal(t, fault.Unauthenticated, code(err))
	_, err = b.authenticate(other.AccessToken)
	require.NoError(t, err, "another login of the same person goes on")

	key := p.newKey(t, "viewer")
	who, err := b.authenticate(*key.Secret)
	require.NoError(t, err)
	r, err := b.as(who).LogOutWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, r.StatusCode(), "a key has no session")
	op := b.operator()
	r, err = op.LogOutWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, r.StatusCode())
}

// trust.md, 8 and 10: of 1,000 tries at most 10 are checked, and the right password among
// them tells nothing.
func TestAThousandGuesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	var checked, limited atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 125 {
				switch _, err := b.logIn(p.login.User.Email, "not the password"); code(err) {
				case fault.Unauthenticated:
					checked.Add(1)
				case fault.RateLimited:
					limited.Add(1)
				default:
					t.Errorf("unexpected: %v", err)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 10, checked.Load())
	require.EqualValues(t, 990, limited.Load())
	_, err := b.logIn(p.login.User.Email, goodPassword)
	require.Equal(t, fault.RateLimited, code(err), "even the right one has to wait")
	require.Positive(t, fault.From(err).RetryAfter)
	_, err = b.authenticate(p.login.AccessToken)
	require.NoError(t, err, "whoever is inside stays inside")
	b.clk.Advance(10 * time.Minute)
	_, err = b.logIn(p.login.User.Email, goodPassword)
	require.NoError(t, err)
}

// The address comes from the gateway's last hop; what the client claims before it, or a
// service other than the gateway says, does not count.
func TestGuessesPerAddress(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Guesses.Address = 3
	b := run(t, nil, cfg, nil)
	try := func(email, forwarded string) int {
		resp, _ := b.raw(actor.Actor{}, http.MethodPost, "/v1/auth/login", `{"email":"`+email+`","password":"guess"}`, "X-Forwarded-For", forwarded)
		return resp.StatusCode
	}
	for i, email := range []string{"a@x", "b@x", "c@x"} {
		require.Equal(t, http.StatusUnauthorized, try(email, []string{"1.1.1.1, ", "2.2.2.2, ", ""}[i]+"192.0.2.7"))
	}
	require.Equal(t, http.StatusTooManyRequests, try("d@x", "9.9.9.9, 192.0.2.7"))
	require.Equal(t, http.StatusUnauthorized, try("d@x", "192.0.2.8"))
}

func TestCookieSessionsAreRefusedNotIgnored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	r, err := b.anybody().LogInWithResponse(t.Context(), &tenantapi.LogInParams{Session: ptr("cookie")}, tenantapi.Credentials{Email: p.login.User.Email, Password: goodPassword})
	require.NoError(t, err)
	f := fault.From(refusal(r.StatusCode(), r.Body, r.HTTPResponse))
	require.Equal(t, fault.Invalid, f.Code)
	require.Equal(t, "session", f.Fields[0].Field)
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	require.NoError(t, tenant.Default().Validate())
	bad := tenant.Config{AccessTTL: time.Hour, Limits: tenant.Limits{Instances: ptr(int64(-1))}, Bootstrap: []tenant.BootstrapAccount{{Email: "x", Password: "short"}}}
	err := bad.Validate()
	for _, want := range []string{"currency", "billing mode", "15 minutes", "password", "instances", "account x"} {
		require.ErrorContains(t, err, want)
	}
}
