package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// Schema is where the allocator's tables live.
const Schema = "allocator"

// Store is the allocator's database: api serves requests, work is the writer and the loops.
type Store struct {
	api, work *pg.DB
}

// New returns a store on two pools of the allocator's schema.
func New(api, work *pg.DB) *Store { return &Store{api: api, work: work} }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return errors.Join(s.api.Ping(ctx), s.work.Ping(ctx))
}

// operator sees every org: for the operator's pages on the api pool.
var operator = pg.Scope{Operator: true, ReadOnly: true}

func own(org string) pg.Scope { return pg.Scope{Org: org, ReadOnly: true} }

// exec runs a statement and returns how many rows it touched.
func exec(tx *pg.Tx, statement string, args ...any) (int64, error) {
	r, err := tx.Statement.ConnPool.ExecContext(tx.Context(), statement, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// scan reads one row.
func scan(tx *pg.Tx, to []any, query string, args ...any) error {
	return tx.Statement.ConnPool.QueryRowContext(tx.Context(), query, args...).Scan(to...)
}

// list reads rows that the query gives as one JSON object each.
func list[T any](tx *pg.Tx, query string, args ...any) ([]T, error) {
	rows, err := tx.Statement.ConnPool.QueryContext(tx.Context(), query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var raw []byte
		var v T
		if err := rows.Scan(&raw); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("read a row: %w", err)
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// recordset is the JSON that jsonb_populate_recordset reads.
func recordset[T any](rows []T) (string, error) {
	b, err := json.Marshal(rows)
	if err != nil {
		return "", fmt.Errorf("write rows: %w", err)
	}
	return string(b), nil
}

// put runs a statement that takes rows as its parameter $1, if there are any, and checks
// that it touched as many, unless any number will do.
func put[T any](tx *pg.Tx, what, statement string, rows []T, exact bool) error {
	if len(rows) == 0 {
		return nil
	}
	set, err := recordset(rows)
	if err != nil {
		return err
	}
	n, err := exec(tx, statement, set)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if exact && n != int64(len(rows)) {
		return fmt.Errorf("%s: %d rows for %d: %w", what, n, len(rows), domain.ErrDrift)
	}
	return nil
}

// translate turns the database's refusals into the domain's.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pg.ErrCommitUnknown):
		return fmt.Errorf("%w: %w", domain.ErrUnknownCommit, err)
	case pg.Constraint(err) != "":
		return &domain.Violation{Constraint: pg.Constraint(err), Cause: err}
	}
	return err
}
