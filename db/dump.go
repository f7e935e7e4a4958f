package db

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed dump.sql
var dumpSQL string

// Dump describes a schema as the catalog has it: tables with columns, constraints, indexes,
// triggers, policies and rights, then its own functions. It is the same on every
// supported version of PostgreSQL and names roles by their kind.
func Dump(ctx context.Context, dsn string, o Options, schema string) (string, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", fmt.Errorf("connect to dump a schema: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	// Names in definitions are qualified unless they are found without that.
	if _, err := conn.Exec(ctx, `SELECT set_config('search_path', $1, false)`, schema+", public"); err != nil {
		return "", fmt.Errorf("dump schema %s: %w", schema, err)
	}
	rows, err := conn.Query(ctx, dumpSQL, schema)
	if err != nil {
		return "", fmt.Errorf("dump schema %s: %w", schema, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return "", fmt.Errorf("dump schema %s: %w", schema, err)
	}
	var names []string
	for _, kind := range []string{RoleOwner, RoleAPI, RoleWork} {
		names = append(names, RoleName(o.Prefix, schema, kind), kind)
	}
	text := strings.NewReplacer(names...).Replace(strings.Join(lines, "\n"))
	return "-- Schema " + schema + " after all migrations; written by `make db-dump`, read in reviews.\n" + text + "\n", nil
}
