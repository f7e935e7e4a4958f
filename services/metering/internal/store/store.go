package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/metering/internal/app"
)

// Store reads for requests.
type Store struct{ api *pg.DB }

// New returns a store on the pool of the api role.
func New(api *pg.DB) *Store { return &Store{api} }

var _ app.Store = (*Store)(nil)

// View runs fn on one transaction that sees the org's rows, or those of all orgs.
func (s *Store) View(ctx context.Context, org string, operator bool, fn func(app.View) error) error {
	return s.api.InTx(ctx, pg.Scope{Org: org, Operator: operator, ReadOnly: true}, func(tx *pg.Tx) error { return fn(&view{tx, org}) })
}

// exec runs a statement as it is and says how many rows it touched.
func exec(tx *pg.Tx, what, query string, args ...any) (int64, error) {
	res, err := tx.Statement.ConnPool.ExecContext(tx.Context(), query, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return res.RowsAffected()
}

// query runs a query as it is and scans its rows one by one until scan says stop.
func query(tx *pg.Tx, what, query string, scan func(*sql.Rows) (more bool, err error), args ...any) error {
	rows, err := tx.Statement.ConnPool.QueryContext(tx.Context(), query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer rows.Close()
	for rows.Next() {
		if more, err := scan(rows); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		} else if !more {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// recordset is rows as the argument of json_to_recordset: any number in one statement.
func recordset[T any](rows []T) (string, error) {
	b, err := json.Marshal(rows)
	if err != nil {
		return "", fmt.Errorf("write rows as JSON: %w", err)
	}
	return string(b), nil
}
