package app_test

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/pg"
)

// admin reaches a test's database around everybody's back.
func admin(t *testing.T, d pg.Database) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", d.AdminDSN)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}
