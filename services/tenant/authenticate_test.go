package tenant_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/tenantmeshapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/tenant"
)

func TestOnlyTheGatewayMayAskWhoItIs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	for _, service := range []string{"allocator", "metering", "inventory", "sim", "tenant"} {
		base, client := b.stack.AsService(service).Client(tenant.Name)
		c, err := tenantmeshapi.NewClientWithResponses(base, tenantmeshapi.WithHTTPClient(client))
		require.NoError(t, err)
		r, err := c.AuthenticateWithResponse(t.Context(), tenantmeshapi.Credential{Credential: p.login.AccessToken})
		require.NoError(t, err)
		require.Equal(t, http.StatusForbidden, r.StatusCode(), service)
	}
	resp, _ := b.raw(p.actor, http.MethodPost, "/internal/v1/authenticate", `{"credential":"x"}`)
	require.Equal(t, http.StatusForbidden, resp.StatusCode, "nor may a person through the gateway")
}

func TestWhatIsNoCredential(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	k := *p.newKey(t, "viewer").Secret
	parts := strings.Split(p.login.AccessToken, ".")
	for name, credential := range map[string]string{
		"nonsense": "nonsense", "a cut token": p.login.AccessToken[:len(p.login.AccessToken)-3], "no signature": parts[0] + "." + parts[1] + ".",
		"alg none": "eyJhbGciOiJub25lIn0." + parts[1] + ".", "a mistyped key": k[:20] + "!" + k[21:], "a key in upper case": strings.ToUpper(k), "a well-formed key nobody minted": "weir_d_0000000000000000000000000000001VEO5E",
		"two credentials": k + " " + k, "SQL": "' OR '1'='1", "long": strings.Repeat("x", 8192), "a key of another scope": "weir_o_" + k[7:],
	} {
		_, err := b.authenticate(credential)
		require.Equal(t, fault.Unauthenticated, code(err), name)
	}
	_, err := b.authenticate(strings.Repeat("x", 8193))
	require.Equal(t, fault.Invalid, code(err))

	// A token of another deployment: same code, another key.
	elsewhere := setup(t).signUp()
	_, err = b.authenticate(elsewhere.login.AccessToken)
	require.Equal(t, fault.Unauthenticated, code(err))
	_, err = b.authenticate(*elsewhere.newKey(t, "owner").Secret)
	require.Equal(t, fault.Unauthenticated, code(err))
}

func TestAnAccessTokenEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	r, err := b.mesh.AuthenticateWithResponse(t.Context(), tenantmeshapi.Credential{Credential: p.login.AccessToken})
	require.NoError(t, err)
	require.Equal(t, b.clk.Now().Add(10*time.Minute), r.JSON200.ExpiresAt.UTC())
	b.clk.Advance(10*time.Minute + 6*time.Second) // five seconds are forgiven
	_, err = b.authenticate(p.login.AccessToken)
	require.Equal(t, fault.Unauthenticated, code(err))
}

// The token says who it was for; the rows say who that is now.
func TestTheRowsDecideNotTheToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, other := b.signUp(), b.signUp()
	b.sql(`UPDATE tenant.membership SET role = 'viewer' WHERE account = $1`, p.actor.ID)
	who, err := b.authenticate(p.login.AccessToken)
	require.NoError(t, err)
	require.EqualValues(t, "viewer", who.Role)
	b.sql(`UPDATE tenant.membership SET org = $1 WHERE account = $2`, other.actor.Org, p.actor.ID)
	_, err = b.authenticate(p.login.AccessToken)
	require.Equal(t, fault.Unauthenticated, code(err), "a session belongs to the org it was opened in")
	b.sql(`UPDATE tenant.session SET org = $1 WHERE id = $2`, other.actor.Org, p.actor.Session)
	_, err = b.authenticate(p.login.AccessToken)
	require.Equal(t, fault.Unauthenticated, code(err), "and to the org in the token")

	op := b.operator()
	b.sql(`UPDATE tenant.account SET operator = false WHERE id = $1`, op.actor.ID)
	_, err = b.authenticate(op.login.AccessToken)
	require.Equal(t, fault.Unauthenticated, code(err))
}

func TestLimitsForTheGatewaysPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	base, client := b.stack.As(p.actor).Client(tenant.Name)
	c, err := tenantmeshapi.NewClientWithResponses(base, tenantmeshapi.WithHTTPClient(client))
	require.NoError(t, err)
	r, err := c.GetOrgLimitsWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.StatusCode(), "%s", r.Body)
	require.Equal(t, p.actor.Org, r.JSON200.Org)
	require.Equal(t, "16", r.JSON200.Gpue.String())
	require.EqualValues(t, 20, *r.JSON200.Instances)
	require.Nil(t, r.JSON200.RAMMib)
	r, err = b.mesh.GetOrgLimitsWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, r.StatusCode(), "the gateway alone has no org")
}

// Same timing for an unknown address: the medians must not tell. The costs are real ones.
func TestAnUnknownAddressTakesAsLong(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	cfg := config()
	cfg.Password.MemoryKiB, cfg.Password.Iterations = 16*1024, 2
	cfg.Guesses.Account = 1000
	b := run(t, nil, cfg, nil)
	p := b.signUp()
	median := func(email string) time.Duration {
		var took []time.Duration
		for range 15 {
			start := time.Now()
			_, err := b.logIn(email, "not the password")
			took = append(took, time.Since(start))
			require.Equal(t, fault.Unauthenticated, code(err))
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	known, unknown := median(p.login.User.Email), median("nobody@example.com")
	require.Less(t, max(known, unknown), 3*min(known, unknown), "known %s, unknown %s", known, unknown)
}
