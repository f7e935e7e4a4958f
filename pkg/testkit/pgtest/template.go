package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	weirdb "github.com/weirhq/weir/db"
)

const (
	templatePrefix = "weir_tpl_"
	clonePrefix    = "weir_t_"
	// keepTemplates is how many are kept ready: one per set of schemas and state of their migrations.
	keepTemplates = 24
)

// ensureTemplate returns the template with these schemas at the present migrations, built
// if need be. It gets its name last, so a killed build is built again.
func (c *cluster) ensureTemplate(ctx context.Context, schemas []string) (string, error) {
	sorted := slices.Compact(slices.Sorted(slices.Values(schemas)))
	name := templatePrefix + weirdb.Fingerprint(sorted...)[:16]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.templates[name] {
		return name, nil
	}
	unlock, err := lockFile(filepath.Join(c.home, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := c.buildTemplate(ctx, name, sorted); err != nil {
		return "", fmt.Errorf("make the template of %s: %w", strings.Join(sorted, ", "), err)
	}
	c.templates[name] = true
	return name, nil
}

func (c *cluster) buildTemplate(ctx context.Context, name string, schemas []string) error {
	var there bool
	if err := c.admin.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&there); err != nil {
		return fmt.Errorf("look for the template: %w", err)
	}
	if there {
		return nil
	}
	making := "weir_making"
	if err := drop(ctx, c.admin, making); err != nil {
		return err
	}
	if _, err := c.admin.ExecContext(ctx, `CREATE DATABASE `+making+` TEMPLATE template0`); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if err := weirdb.Migrate(ctx, c.server.DSN(making, c.password), weirdb.Options{Prefix: prefix, Secret: secret}, schemas...); err != nil {
		return err
	}
	for _, q := range []string{`ALTER DATABASE ` + making + ` ALLOW_CONNECTIONS false`, `ALTER DATABASE ` + making + ` RENAME TO ` + name} {
		if _, err := c.admin.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("build: %w", err)
		}
	}
	return c.dropOldTemplates(ctx)
}

// dropOldTemplates keeps the newest few; object ids grow with age.
func (c *cluster) dropOldTemplates(ctx context.Context) error {
	names, err := c.databases(ctx, templatePrefix)
	if err != nil {
		return err
	}
	for _, n := range names[:max(0, len(names)-keepTemplates)] {
		if err := drop(ctx, c.admin, n); err != nil {
			return err
		}
	}
	return nil
}

// dropDead drops the databases of test processes that are gone.
func (c *cluster) dropDead(ctx context.Context) error {
	names, err := c.databases(ctx, clonePrefix)
	if err != nil {
		return err
	}
	for _, n := range names {
		if dead(strings.TrimPrefix(n, clonePrefix)) {
			if err := drop(ctx, c.admin, n); err != nil {
				return err
			}
		}
	}
	roles, err := column(ctx, c.admin, `SELECT DISTINCT substring(rolname FROM '^weir_(t[0-9]+_[0-9a-f]+)_') FROM pg_roles WHERE rolname ~ '^weir_t[0-9]+_[0-9a-f]+_'`)
	if err != nil {
		return fmt.Errorf("list roles: %w", err)
	}
	for _, p := range roles {
		if dead(p[1:]) {
			if err := dropRoles(ctx, c.admin, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// dead reports whether the process with the number that name begins with is gone.
func dead(name string) bool {
	number, _, _ := strings.Cut(name, "_")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	_, err = os.Stat(fmt.Sprintf("/proc/%d", pid))
	return errors.Is(err, os.ErrNotExist)
}

// databases lists those with the given prefix, oldest first.
func (c *cluster) databases(ctx context.Context, prefix string) ([]string, error) {
	names, err := column(ctx, c.admin, `SELECT datname FROM pg_database WHERE starts_with(datname, $1) ORDER BY oid`, prefix)
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	return names, nil
}

// column reads a query's only column.
func column(ctx context.Context, db *sql.DB, query string, args ...any) ([]string, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}
