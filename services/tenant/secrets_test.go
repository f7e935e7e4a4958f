package tenant_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/obs"
)

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// trust.md, 9 and 22: no secret is in a dump of the database or in the log, replays and
// refusals included.
func TestNoSecretIsKeptOrLogged(t *testing.T) {
	t.Parallel()
	log := &lockedBuffer{}
	b := run(t, nil, config(), func(env *host.Env) {
		env.Log = slog.New(obs.Handler(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	})
	p := b.signUp()
	k := p.newKey(t, "owner")
	made, err := b.operator().CreateOrgWithResponse(t.Context(), &tenantapi.CreateOrgParams{IdempotencyKey: "o"}, tenantapi.AdminOrgCreate{Name: "O", Owner: &tenantapi.NewOwner{Email: "o@o", Name: "O"}})
	require.NoError(t, err)
	next, err := b.refresh(p.login.RefreshToken)
	require.NoError(t, err)
	_, err = b.refresh(p.login.RefreshToken) // a reuse, which is logged
	require.Error(t, err)
	for _, credential := range []string{*k.Secret, p.login.AccessToken, (*k.Secret)[:30] + "xxxxxxxxxxxxx", p.login.AccessToken + "x"} {
		_, _ = b.authenticate(credential)
	}
	_, err = b.logIn(p.login.User.Email, "a wrong but telling password")
	require.Error(t, err)

	secrets := []string{
		goodPassword, adminPassword, "a wrong but telling password", *k.Secret, *made.JSON201.Secret, p.login.AccessToken, p.login.RefreshToken, next.AccessToken, next.RefreshToken,
		(*k.Secret)[12:30], p.login.RefreshToken[10:40], // pieces too
	}
	dump := b.dump()
	require.Contains(t, dump, p.login.User.Email, "the dump is one")
	require.Contains(t, dump, k.Hint)
	for i, s := range secrets {
		for what, text := range map[string]string{"database": dump, "log": log.String()} {
			require.NotContains(t, text, s, "secret %d is in the %s", i, what)
			require.NotContains(t, text, hex.EncodeToString([]byte(s)), "secret %d is in the %s", i, what)
		}
	}
	require.Contains(t, log.String(), "refresh token was used twice")
}

// dump is every row of every table as text.
func (b *bundle) dump() string {
	b.t.Helper()
	rows, err := b.admin.QueryContext(b.t.Context(), `SELECT tablename FROM pg_tables WHERE schemaname = 'tenant'`)
	require.NoError(b.t, err)
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var name string
		require.NoError(b.t, rows.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(b.t, rows.Err())
	var out strings.Builder
	for _, table := range tables {
		var text string
		require.NoError(b.t, b.admin.QueryRowContext(b.t.Context(), fmt.Sprintf(`SELECT COALESCE(string_agg(t::text, E'\n'), '') FROM tenant.%s t`, table)).Scan(&text))
		out.WriteString(table + "\n" + text + "\n")
	}
	return out.String()
}
