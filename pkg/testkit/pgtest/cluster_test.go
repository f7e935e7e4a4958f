package pgtest

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/pg"
)

// What a killed run left behind goes with the next run; what lives stays.
func TestTheDeadAreCleanedUp(t *testing.T) {
	t.Parallel()
	c := shared(t)
	gone := exec.Command("true")
	require.NoError(t, gone.Run())
	pid := gone.Process.Pid // nobody's now
	database, role := fmt.Sprintf("%s%d_feed", clonePrefix, pid), fmt.Sprintf("weir_t%d_beef_tenant_api", pid)
	for _, q := range []string{`CREATE DATABASE ` + database + ` TEMPLATE template0`, `CREATE ROLE ` + role, `ALTER DATABASE ` + database + ` OWNER TO ` + role} {
		_, err := c.admin.ExecContext(t.Context(), q)
		require.NoError(t, err)
	}
	mine := New(t, "tenant")
	unlock, err := lockFile(c.home + "/lock")
	require.NoError(t, err)
	defer unlock()
	require.NoError(t, c.dropDead(t.Context()))
	left, err := column(t.Context(), c.admin, `SELECT datname FROM pg_database WHERE datname = $1 UNION ALL SELECT rolname FROM pg_roles WHERE rolname = $2`, database, role)
	require.NoError(t, err)
	require.Empty(t, left)
	require.NotNil(t, Open(t, mine, "tenant", pg.API, 1))
}
