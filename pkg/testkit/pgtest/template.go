package pgtest

import (
	"context"
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
		pid, err := strconv.Atoi(strings.SplitN(strings.TrimPrefix(n, clonePrefix), "_", 2)[0])
		if err != nil {
			continue
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			continue
		}
		if err := drop(ctx, c.admin, n); err != nil {
			return err
		}
	}
	return nil
}

// databases lists those with the given prefix, oldest first.
func (c *cluster) databases(ctx context.Context, prefix string) ([]string, error) {
	rows, err := c.admin.QueryContext(ctx, `SELECT datname FROM pg_database WHERE starts_with(datname, $1) ORDER BY oid`, prefix)
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			return nil, fmt.Errorf("list databases: %w", err)
		}
		names = append(names, n)
	}
	return names, rows.Err()
}
