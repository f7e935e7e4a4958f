package pgtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	weirdb "github.com/weirhq/weir/db"
	"github.com/weirhq/weir/pkg/kit/pg"
)

// prefix stands in the names of the roles, which all test databases share.
const prefix = "pgtest"

var secret = []byte("only test databases use this secret")

// New returns a database of the test's own with the named schemas (all, when none is
// named) migrated, and drops it when the test ends.
func New(t testing.TB, schemas ...string) pg.Database {
	t.Helper()
	for _, s := range schemas {
		if !slices.Contains(weirdb.Schemas, s) {
			t.Fatalf("pgtest: unknown schema %q", s)
		}
	}
	if len(schemas) == 0 {
		schemas = weirdb.Schemas
	}
	c := shared(t)
	template, err := c.ensureTemplate(t.Context(), schemas)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return c.create(t, template)
}

// NewEmpty returns a database without any schema, for the tests of the migrations
// themselves. Its roles have a prefix of their own.
func NewEmpty(t testing.TB) pg.Database {
	t.Helper()
	c := shared(t)
	own := fmt.Sprintf("t%d_%s", os.Getpid(), random(4))
	t.Cleanup(func() { // runs after the database, whose objects the roles own, was dropped
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := dropRoles(ctx, c.admin, own); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	d := c.create(t, "template0")
	d.RolePrefix = own
	return d
}

// Open opens a pool on a schema of d and closes it when the test ends.
func Open(t testing.TB, d pg.Database, schema string, r pg.Role, maxConns int) *pg.DB {
	t.Helper()
	db, err := pg.Open(t.Context(), d, schema, r, maxConns)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

var once = sync.OnceValues(connect)

func shared(t testing.TB) *cluster {
	t.Helper()
	c, err := once()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return c
}

// create makes a database from a template and registers its end.
func (c *cluster) create(t testing.TB, template string) pg.Database {
	t.Helper()
	name := fmt.Sprintf("%s%d_%s", clonePrefix, os.Getpid(), random(5))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.admin.ExecContext(ctx, `CREATE DATABASE `+name+` TEMPLATE `+template); err != nil {
		t.Fatalf("pgtest: create a database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := drop(ctx, c.admin, name); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return pg.Database{AdminDSN: c.server.DSN(name, c.password), RolePrefix: prefix, Secret: secret}
}

// dropRoles drops the roles with a prefix.
func dropRoles(ctx context.Context, admin *sql.DB, prefix string) error {
	names, err := column(ctx, admin, `SELECT rolname FROM pg_roles WHERE starts_with(rolname, $1)`, "weir_"+prefix+"_")
	if err != nil {
		return fmt.Errorf("list roles: %w", err)
	}
	for _, n := range names {
		if _, err := admin.ExecContext(ctx, `DROP ROLE IF EXISTS `+n); err != nil {
			return fmt.Errorf("drop role %s: %w", n, err)
		}
	}
	return nil
}

func drop(ctx context.Context, admin *sql.DB, name string) error {
	if _, err := admin.ExecContext(ctx, `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
