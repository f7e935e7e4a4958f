package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

var schemaShape = regexp.MustCompile(`^[a-z][a-z0-9]{0,15}$`)

// Migrate brings the named schemas up to date: roles, rights, common tables, then the
// schema's own migrations. It is safe to repeat and to run from several processes at once.
// adminDSN is a superuser, or a role with CREATEROLE and the CREATE right on the database.
func Migrate(ctx context.Context, adminDSN string, o Options, schemas ...string) error {
	if err := o.validate(); err != nil {
		return err
	}
	for _, s := range schemas {
		if !schemaShape.MatchString(s) {
			return fmt.Errorf("schema name %q must be 1 to 16 lower-case letters and digits, a letter first", s)
		}
	}
	a, err := openAdmin(ctx, adminDSN)
	if err != nil {
		return err
	}
	if err := a.migrate(ctx, adminDSN, o, schemas); err != nil {
		return errors.Join(err, a.close(ctx))
	}
	return a.close(ctx)
}

func (a *admin) migrate(ctx context.Context, adminDSN string, o Options, schemas []string) error {
	if err := a.extension(ctx); err != nil {
		return err
	}
	for _, schema := range schemas {
		if err := a.setup(ctx, o, schema); err != nil {
			return err
		}
		if err := asOwner(ctx, adminDSN, o, schema); err != nil {
			return fmt.Errorf("migrate schema %s: %w", schema, err)
		}
	}
	return nil
}

// asOwner runs what the schema's owner runs.
func asOwner(ctx context.Context, adminDSN string, o Options, schema string) error {
	cfg, err := pgx.ParseConfig(adminDSN)
	if err != nil {
		return fmt.Errorf("parse the database address: %w", err)
	}
	cfg.User = RoleName(o.Prefix, schema, RoleOwner)
	cfg.Password = Password(o.Secret, cfg.User)
	cfg.RuntimeParams["search_path"] = schema + ", public"
	cfg.RuntimeParams["application_name"] = "weir_migrate"
	conn := stdlib.OpenDB(*cfg)
	defer conn.Close()
	vars, err := placeholders(o, schema)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, fill(functionsSQL, vars)); err != nil {
		return fmt.Errorf("install the table functions: %w", err)
	}
	for _, folder := range []string{common, schema} {
		if err := up(ctx, conn, schema, folder); err != nil {
			return err
		}
	}
	return nil
}

// up applies one folder of migrations under its own version table.
func up(ctx context.Context, conn *sql.DB, schema, folder string) error {
	fsys, err := migrations(folder)
	if err != nil || fsys == nil {
		return err
	}
	table := schema + ".schema_version"
	if folder == common {
		table = schema + ".common_version"
	}
	// The administrator's advisory lock already makes this the only migration here.
	p, err := goose.NewProvider(goose.DialectPostgres, conn, fsys, goose.WithTableName(table), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations in %s: %w", folder, err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("apply the migrations in %s: %w", folder, err)
	}
	return nil
}
