package tenant_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/testkit/apitest"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
	"github.com/weirhq/weir/services/tenant"
)

func demo(password string, reset bool) tenant.BootstrapAccount {
	return tenant.BootstrapAccount{Email: "demo@weir.local", Name: "Demo", OrgName: "Demo", Password: password, ResetPassword: reset}
}

// restart runs another process of the service on the same database.
func (b *bundle) restart(accounts ...tenant.BootstrapAccount) error {
	b.t.Helper()
	cfg := config()
	cfg.Bootstrap = accounts
	stack := apitest.New(b.t, apitest.Config{Database: b.db})
	env := stack.Env(tenant.Name)
	m, err := tenant.New(cfg, env)
	if err != nil {
		return err
	}
	group, err := host.Start(b.t.Context(), env, m)
	if err != nil {
		return err
	}
	return group.Stop(b.t.Context())
}

func TestBootstrapAccounts(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Bootstrap = append(cfg.Bootstrap, demo("first password", false))
	b := run(t, nil, cfg, nil)
	l, err := b.logIn("demo@weir.local", "first password")
	require.NoError(t, err)
	require.Equal(t, "Demo", l.Org.Name)
	require.Equal(t, "default", l.Project.Name)
	p := b.enter(l)

	require.NoError(t, b.restart(demo("generated again", false)))
	_, err = b.logIn("demo@weir.local", "first password")
	require.NoError(t, err, "a generated password does not replace the one there is")
	_, err = b.authenticate(l.AccessToken)
	require.NoError(t, err)

	require.NoError(t, b.restart(demo("first password", true)))
	_, err = b.authenticate(l.AccessToken)
	require.NoError(t, err, "the same password again changes nothing")

	require.NoError(t, b.restart(demo("second password", true)))
	_, err = b.logIn("demo@weir.local", "first password")
	require.Equal(t, fault.Unauthenticated, code(err))
	_, err = b.authenticate(l.AccessToken)
	require.Equal(t, fault.Unauthenticated, code(err), "a reset ends what is open")
	again, err := b.logIn("demo@weir.local", "second password")
	require.NoError(t, err)
	require.Equal(t, p.actor.Org, again.Org.ID, "the same org")
}

func TestARestartMakesNobodyOperator(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.signUp()
	err := b.restart(tenant.BootstrapAccount{Email: p.login.User.Email, Name: "X", Operator: true, Password: "a new operator's", ResetPassword: true})
	require.ErrorContains(t, err, "another platform role")
	_, err = b.logIn(p.login.User.Email, goodPassword)
	require.NoError(t, err)
	require.ErrorContains(t, b.restart(demo("short", false)), "at least 10 characters")
}

func TestTwoProcessesBootstrapAtOnce(t *testing.T) {
	t.Parallel()
	b := &bundle{t: t, db: pgtest.New(t, tenant.Name)}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := b.restart(config().Bootstrap[0], demo("a demo password", true)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
