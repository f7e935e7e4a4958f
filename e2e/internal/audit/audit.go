// Package audit proves, from outside, that the house is in order: the engine's own Check,
// and invariants asked of the database directly, each one query that must return nothing.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weirhq/weir/e2e/internal/rest"
)

// DB is the administrator's connection to a stack's private database.
type DB struct{ *pgx.Conn }

// Open connects to the database of the stack whose data directory is dir.
func Open(ctx context.Context, dir string) (*DB, error) {
	dsn, err := os.ReadFile(filepath.Join(dir, "secrets", "database.url"))
	if err != nil {
		return nil, fmt.Errorf("find the stack's database: %w", err)
	}
	conn, err := pgx.Connect(ctx, strings.TrimSpace(string(dsn)))
	if err != nil {
		return nil, fmt.Errorf("connect to the stack's database: %w", err)
	}
	return &DB{conn}, nil
}

// Check asks the product for its own violations.
func Check(ctx context.Context, operator *rest.Client) ([]string, error) {
	r, err := operator.Get(ctx, "/v1/admin/snapshot")
	if err != nil {
		return nil, err
	}
	if r.Status != http.StatusOK {
		return nil, fmt.Errorf("read the snapshot: %d %s", r.Status, r.Raw)
	}
	var s struct {
		Violations *[]json.RawMessage `json:"violations"`
	}
	if err := json.Unmarshal(r.Raw, &s); err != nil {
		return nil, err
	}
	if s.Violations == nil {
		return nil, fmt.Errorf("the snapshot says nothing of violations")
	}
	var out []string
	for _, v := range *s.Violations {
		out = append(out, "check: "+string(v))
	}
	return out, nil
}

// Violations runs every invariant; each row is one violation in words.
func (d *DB) Violations(ctx context.Context) ([]string, error) {
	var out []string
	for _, i := range invariants {
		rows, err := d.Query(ctx, i.sql)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", i.name, err)
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", i.name, err)
		}
		for _, f := range found {
			out = append(out, i.name+": "+f)
		}
	}
	return out, nil
}

// WholeCardsInUse counts the cards that have a live whole seat.
func (d *DB) WholeCardsInUse(ctx context.Context) (int, error) {
	var n int
	err := d.QueryRow(ctx, `SELECT count(DISTINCT gpu) FROM allocator.seat WHERE released_at IS NULL AND kind = 'whole'`).Scan(&n)
	return n, err
}
