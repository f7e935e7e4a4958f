package db

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed setup.sql
var setupSQL string

// minVersion is the oldest PostgreSQL that Weir is tried on.
const minVersion = 150000

// admin is the administrator's connection; it holds the migration lock of its database.
type admin struct{ conn *pgx.Conn }

// openAdmin connects, checks that the administrator may do what Migrate needs, and waits
// for its turn: processes that start at once migrate one after the other.
func openAdmin(ctx context.Context, dsn string) (*admin, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL as administrator: %w", err)
	}
	a := &admin{conn}
	if err := a.check(ctx); err != nil {
		return nil, errors.Join(err, a.close(ctx))
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtextextended('weir.migrate', 0))`); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for another migration: %w", err), a.close(ctx))
	}
	return a, nil
}

func (a *admin) close(ctx context.Context) error { return a.conn.Close(context.WithoutCancel(ctx)) }

func (a *admin) check(ctx context.Context) error {
	var version int
	var user, database string
	var super, createRole, create bool
	err := a.conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, rolname, current_database(), rolsuper, rolcreaterole,
		has_database_privilege(current_database(), 'CREATE') FROM pg_roles WHERE rolname = current_user`).
		Scan(&version, &user, &database, &super, &createRole, &create)
	switch {
	case err != nil:
		return fmt.Errorf("ask PostgreSQL what the administrator may do: %w", err)
	case version < minVersion:
		return fmt.Errorf("PostgreSQL %d is too old: Weir needs version %d or later", version/10000, minVersion/10000)
	case !super && !createRole:
		return fmt.Errorf("the database user %s must be a superuser or have CREATEROLE, because Weir makes its own roles", user)
	case !super && !create:
		return fmt.Errorf("the database user %s needs the CREATE right on database %s", user, database)
	}
	return nil
}

// extension installs btree_gist, which the exclusion constraints need, for all schemas.
func (a *admin) extension(ctx context.Context) error {
	_, err := a.conn.Exec(ctx, `DO $$ BEGIN
		IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'btree_gist') THEN CREATE EXTENSION btree_gist WITH SCHEMA public; END IF;
	END $$`)
	if err != nil {
		return fmt.Errorf("install the extension btree_gist (part of PostgreSQL's contrib package): %w", err)
	}
	return nil
}

// setup makes or repairs the schema and its three roles.
func (a *admin) setup(ctx context.Context, o Options, schema string) error {
	vars, err := placeholders(o, schema)
	if err != nil {
		return err
	}
	if _, err := a.conn.Exec(ctx, fill(setupSQL, vars)); err != nil {
		return fmt.Errorf("make schema %s and its roles: %w", schema, err)
	}
	return nil
}

// placeholders are what setup.sql and functions.sql may name.
func placeholders(o Options, schema string) (map[string]string, error) {
	vars := map[string]string{"schema": pgx.Identifier{schema}.Sanitize(), "schema_literal": literal(schema)}
	for _, kind := range []string{RoleOwner, RoleAPI, RoleWork} {
		name := RoleName(o.Prefix, schema, kind)
		v, err := verifier(o.Secret, name)
		if err != nil {
			return nil, err
		}
		vars[kind], vars[kind+"_literal"], vars[kind+"_verifier"] = pgx.Identifier{name}.Sanitize(), literal(name), literal(v)
	}
	return vars, nil
}

// fill replaces every @name@.
func fill(sql string, vars map[string]string) string {
	pairs := make([]string, 0, 2*len(vars))
	for k, v := range vars {
		pairs = append(pairs, "@"+k+"@", v)
	}
	return strings.NewReplacer(pairs...).Replace(sql)
}

// literal quotes a string that is one of our own names or a password verifier.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
