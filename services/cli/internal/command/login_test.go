package command

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
)

// members is a deployment with one person, whose tokens change with every login and renewal.
func members(t *testing.T) (*deployment, *person, *clock.Fake) {
	d := newDeployment(t)
	p := newPerson(t, d)
	delete(p.env, "WEIR_TOKEN")
	clk := clock.NewFake(at("2026-11-30T08:00:00Z"))
	p.clock = clk
	d.on("POST /v1/auth/login", func(_ *http.Request, body string) (int, any) {
		if body != `{"email":"ada@example.com","password":"correct horse battery"}` {
			return 0, fault.New(fault.Unauthenticated, "The e-mail or the password is wrong.")
		}
		return http.StatusOK, tenantapi.Login{
			User: tenantapi.User{ID: userID, Email: "ada@example.com", Name: "Ada", CreatedAt: clk.Now()}, AccessToken: "access-1", RefreshToken: "refresh-1", TokenType: "Bearer", ExpiresIn: 900,
			Org:     &tenantapi.Org{ID: orgID, Name: "Ada's lab", Currency: "CNY", TimeZone: "UTC", Standing: "good", BillingMode: "postpaid", CreatedAt: clk.Now()},
			Project: &tenantapi.Project{ID: "prj_1", Name: "default", CreatedAt: clk.Now()},
		}
	})
	d.on("POST /v1/auth/refresh", func(_ *http.Request, body string) (int, any) {
		if body != `{"refresh_token":"refresh-1"}` {
			return 0, fault.New(fault.Unauthenticated, "The session has ended.")
		}
		return http.StatusOK, tenantapi.Tokens{AccessToken: "access-2", RefreshToken: "refresh-2", TokenType: "Bearer", ExpiresIn: 900}
	})
	d.on("POST /v1/auth/logout", func(*http.Request, string) (int, any) { return http.StatusNoContent, nil })
	d.on("GET /v1/instances", func(r *http.Request, _ string) (int, any) {
		if r.Header.Get("Authorization") == "" {
			return 0, fault.New(fault.Unauthenticated, "This operation needs a valid access token or API key.")
		}
		return http.StatusOK, allocatorapi.InstanceList{Items: []allocatorapi.Instance{}}
	})
	return d, p, clk
}

func TestLoginRenewLogout(t *testing.T) {
	t.Parallel()
	d, p, clk := members(t)
	require.Equal(t, result{"", "weir: This operation needs a valid access token or API key.\n  hint: log in with: weir login\n", 4}, p.run("", "instances", "ls"))

	r := p.run("wrong\n", "login", "--email", "ada@example.com", "--password-stdin")
	require.Equal(t, 4, r.code)
	r = p.run("correct horse battery\nnot read", "login", "--email", "ada@example.com", "--password-stdin")
	require.Equal(t, result{"", "logged in to " + d.URL + " as ada@example.com (Ada's lab)\n", 0}, r)
	info, err := os.Stat(filepath.Join(p.dir, "weir", "sessions.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	delete(p.env, "WEIR_URL") // the last login is the deployment
	require.Zero(t, p.run("", "instances", "ls").code)
	clk.Advance(20 * time.Minute)
	require.Zero(t, p.run("", "instances", "ls").code)
	calls := d.seen("listInstances")
	require.Equal(t, "Bearer access-1", calls[1].auth)
	require.Equal(t, "Bearer access-2", calls[2].auth)
	require.Empty(t, d.seen("refreshSession")[0].auth)

	p.env["WEIR_TOKEN"] = "weir_d_key"
	require.Zero(t, p.run("", "instances", "ls").code)
	require.Equal(t, "Bearer weir_d_key", d.seen("listInstances")[3].auth)
	delete(p.env, "WEIR_TOKEN")

	clk.Advance(20 * time.Minute)
	require.Equal(t, result{"", "weir: Your session has ended.\n  hint: log in with: weir login\n", 4}, p.run("", "instances", "ls"))

	p.env["WEIR_URL"] = d.URL + "/"
	require.Zero(t, p.run("correct horse battery", "login", "--email", "ada@example.com", "--password-stdin").code)
	require.Equal(t, result{"", "logged out of " + d.URL + "\n", 0}, p.run("", "logout"))
	require.Equal(t, "Bearer access-1", d.seen("logOut")[0].auth)
	require.Equal(t, result{"", "not logged in to " + d.URL + "\n", 0}, p.run("", "logout"))
}

func TestLogoutWithoutTheServer(t *testing.T) {
	t.Parallel()
	d, p, _ := members(t)
	require.Zero(t, p.run("correct horse battery", "login", "--email", "ada@example.com", "--password-stdin").code)
	d.Close()
	r := p.run("", "logout")
	require.Zero(t, r.code)
	require.Contains(t, r.err, "the session there ends by itself")
	require.Contains(t, p.run("", "logout").err, "not logged in")
}

func TestNoHome(t *testing.T) {
	t.Parallel()
	_, p, _ := members(t)
	p.dir = ""
	r := p.run("correct horse battery", "login", "--email", "ada@example.com", "--password-stdin")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "WEIR_TOKEN")
	p.env["WEIR_TOKEN"] = "weir_d_key"
	require.Zero(t, p.run("", "instances", "ls").code)
}
