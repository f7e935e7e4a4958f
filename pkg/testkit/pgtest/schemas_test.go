package pgtest_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	weirdb "github.com/weirhq/weir/db"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
)

var update = flag.Bool("update", false, "write db/schema/*.sql anew")

// admin connects as the administrator, with the schema in the search path.
func admin(t *testing.T, d pg.Database) *pgx.Conn {
	conn, err := pgx.Connect(t.Context(), d.AdminDSN)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

// TestSchemasAreAsDumped keeps db/schema in step with the migrations: `make db-dump`.
func TestSchemasAreAsDumped(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t)
	for _, schema := range weirdb.Schemas {
		got, err := weirdb.Dump(t.Context(), d.AdminDSN, d.Options(), schema)
		require.NoError(t, err)
		path := filepath.Join("..", "..", "..", "db", "schema", schema+".sql")
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			continue
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		if w, g, ok := firstDifference(string(want), got); ok {
			t.Errorf("the migrations of %s and its dump differ: run make db-dump\n dump: %s\n have: %s", schema, w, g)
		}
	}
}

// firstDifference is enough: the rest is in the diff of the dump.
func firstDifference(a, b string) (lineA, lineB string, differ bool) {
	for a != b {
		lineA, a, _ = strings.Cut(a, "\n")
		lineB, b, _ = strings.Cut(b, "\n")
		if lineA != lineB {
			return lineA, lineB, true
		}
	}
	return "", "", false
}

// TestEveryTableIsGrantedInOneOfThreeWays is the net under the helper functions: a table
// that was forgotten, or whose rows belong to an org without forced row-level security.
func TestEveryTableIsGrantedInOneOfThreeWays(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t)
	conn := admin(t, d)
	const all = "DELETE,INSERT,SELECT,UPDATE"
	for _, schema := range weirdb.Schemas {
		rows, err := conn.Query(t.Context(), `
			SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity,
				EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org' AND NOT a.attisdropped),
				(SELECT COALESCE(string_agg(polname, ',' ORDER BY polname), '') FROM pg_policy WHERE polrelid = c.oid),
				(SELECT COALESCE(string_agg(privilege_type, ',' ORDER BY privilege_type), '') FROM aclexplode(c.relacl) WHERE grantee = $2::regrole),
				(SELECT COALESCE(string_agg(privilege_type, ',' ORDER BY privilege_type), '') FROM aclexplode(c.relacl) WHERE grantee = $3::regrole),
				EXISTS (SELECT FROM aclexplode(c.relacl) WHERE grantee NOT IN (c.relowner, $2::regrole, $3::regrole)),
				c.relowner = $4::regrole
			FROM pg_class c WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND c.relname NOT IN ('schema_version', 'common_version')`,
			schema, d.RoleName(schema, pg.API), d.RoleName(schema, pg.Work), d.RoleName(schema, pg.Owner))
		require.NoError(t, err)
		n := 0
		for rows.Next() {
			var table, policies, api, work string
			var forced, org, others, owned bool
			require.NoError(t, rows.Scan(&table, &forced, &org, &policies, &api, &work, &others, &owned))
			n++
			name := schema + "." + table
			require.True(t, owned, "%s belongs to the owner role", name)
			require.False(t, others, "%s is granted to nobody else", name)
			require.Equal(t, all, work, "%s must go through weir_tenant_table, weir_work_table or weir_shared_table", name)
			switch {
			case forced: // tenant
				require.Equal(t, "weir_api,weir_work", policies, name)
				require.Contains(t, api, "SELECT", name)
			case api == "" || api == "SELECT": // work, shared
				require.Empty(t, policies, name)
				require.False(t, org && api != "", "%s has a column org: its rows must be under forced row-level security", name)
			default:
				t.Errorf("%s gives the api role %s without row-level security", name, api)
			}
		}
		require.NoError(t, rows.Err())
		require.Positive(t, n, schema)
	}
}

func TestRolesReachOnlyTheirSchema(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t, "tenant", "allocator")
	for _, role := range []pg.Role{pg.API, pg.Work, pg.Owner} {
		db := pgtest.Open(t, d, "allocator", role, 1)
		for _, q := range []string{
			`SELECT * FROM tenant.outbox`, `INSERT INTO tenant.feed_head VALUES ('x', 1)`, `CREATE TABLE tenant.mine (x int)`,
			`SELECT tenant.weir_work_table('outbox')`, `CREATE TABLE public.mine (x int)`, `CREATE SCHEMA mine`, `CREATE ROLE mine`,
			`SET ROLE ` + d.RoleName("tenant", pg.Owner), `SELECT * FROM pg_authid`,
		} {
			err := db.InTx(t.Context(), pg.Scope{Operator: true}, func(tx *pg.Tx) error { return tx.Exec(q).Error })
			require.ErrorContains(t, err, "permission denied", "%s: %s", role, q)
		}
	}
	for _, role := range []pg.Role{pg.API, pg.Work} {
		db := pgtest.Open(t, d, "allocator", role, 1)
		for _, q := range []string{
			`CREATE TABLE mine (x int)`, `ALTER TABLE outbox DISABLE ROW LEVEL SECURITY`, `DROP TABLE outbox`, `SELECT * FROM schema_version`,
			`SELECT weir_work_table('outbox')`, `TRUNCATE outbox`,
		} {
			err := db.InTx(t.Context(), pg.Scope{Operator: true}, func(tx *pg.Tx) error { return tx.Exec(q).Error })
			require.Error(t, err, "%s: %s", role, q)
			require.Regexp(t, "permission denied|must be owner", err.Error(), "%s: %s", role, q)
		}
	}
}

func TestMigrateIsQuickSafeToRepeatAndAtOnce(t *testing.T) {
	t.Parallel()
	d := pgtest.NewEmpty(t)
	var wg sync.WaitGroup
	began := time.Now()
	for range 3 { // processes that start together
		wg.Go(func() {
			if err := weirdb.Migrate(t.Context(), d.AdminDSN, d.Options(), weirdb.Schemas...); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	t.Logf("three at once, fresh: %v", time.Since(began))
	began = time.Now()
	require.NoError(t, weirdb.Migrate(t.Context(), d.AdminDSN, d.Options(), weirdb.Schemas...))
	t.Logf("nothing to do: %v", time.Since(began))

	// A rotated secret takes effect; the old one no longer opens the door.
	rotated := d
	rotated.Secret = []byte("another secret of the installation")
	require.NoError(t, weirdb.Migrate(t.Context(), d.AdminDSN, rotated.Options(), "tenant"))
	_, err := pg.Open(t.Context(), d, "tenant", pg.API, 1)
	require.ErrorContains(t, err, "password authentication failed")
	pgtest.Open(t, rotated, "tenant", pg.API, 1)
}

// TestMigrateAsAnOrdinaryAdministrator covers --database-url of a managed PostgreSQL,
// where nobody is superuser.
func TestMigrateAsAnOrdinaryAdministrator(t *testing.T) {
	t.Parallel()
	d := pgtest.NewEmpty(t)
	conn := admin(t, d)
	name := "weir_" + d.RolePrefix + "_admin" // dropped with the test's other roles
	as := func(attributes string) string {
		_, err := conn.Exec(t.Context(), `DROP ROLE IF EXISTS `+name)
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), `CREATE ROLE `+name+` LOGIN PASSWORD 'p' `+attributes)
		require.NoError(t, err)
		u := strings.Replace(d.AdminDSN, "postgres://weir:", "postgres://"+name+":", 1)
		at := strings.Index(u, "@")
		return "postgres://" + name + ":p" + u[at:]
	}
	err := weirdb.Migrate(t.Context(), as(""), d.Options(), "tenant")
	require.ErrorContains(t, err, "must be a superuser or have CREATEROLE")
	dsn := as("CREATEROLE CREATEDB")
	err = weirdb.Migrate(t.Context(), dsn, d.Options(), "tenant")
	require.ErrorContains(t, err, "needs the CREATE right on database")

	var database string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT current_database()`).Scan(&database))
	_, err = conn.Exec(t.Context(), `GRANT ALL ON DATABASE `+database+` TO `+name+` WITH GRANT OPTION`)
	require.NoError(t, err)
	require.NoError(t, weirdb.Migrate(t.Context(), dsn, d.Options(), "tenant", "allocator"))
	require.NoError(t, weirdb.Migrate(t.Context(), dsn, d.Options(), "tenant", "allocator"), "again")
	ordinary := d
	ordinary.AdminDSN = dsn
	pgtest.Open(t, ordinary, "tenant", pg.API, 1)
}

func TestMigrateRefusesInOneSentence(t *testing.T) {
	t.Parallel()
	d := pgtest.NewEmpty(t)
	for want, o := range map[string]weirdb.Options{
		"role prefix":       {Prefix: "No-Good", Secret: d.Secret},
		"at least 16 bytes": {Prefix: "fine", Secret: []byte("short")},
	} {
		require.ErrorContains(t, weirdb.Migrate(t.Context(), d.AdminDSN, o, "tenant"), want)
	}
	require.ErrorContains(t, weirdb.Migrate(t.Context(), d.AdminDSN, d.Options(), "te;nant"), "schema name")
	conn := admin(t, d)
	_, err := conn.Exec(t.Context(), `CREATE SCHEMA tenant`)
	require.NoError(t, err)
	require.ErrorContains(t, weirdb.Migrate(t.Context(), d.AdminDSN, d.Options(), "tenant"), "belongs to another role")
}
