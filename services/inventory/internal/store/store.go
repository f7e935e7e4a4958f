// Package store owns the inventory's rows: it maps them to domain types and turns database
// errors into faults. Nothing else of the service knows SQL.
package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/idem"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

// Store is a domain.Store on PostgreSQL: reads run as the api role, which sees no tokens
// and certificates, writes as the work role.
type Store struct {
	api, work *pg.DB
	clk       clock.Clock
	published func()
}

// New returns a store. published is called after each commit that put something into the
// feed.
func New(api, work *pg.DB, clk clock.Clock, published func()) *Store {
	return &Store{api: api, work: work, clk: clk, published: published}
}

// Read runs fn on what requests may see.
func (s *Store) Read(ctx context.Context, fn func(domain.Tx) error) error {
	return s.api.InTx(ctx, pg.Scope{ReadOnly: true}, func(t *pg.Tx) error { return fn(&tx{t, s}) })
}

// Write runs fn with the right to change things.
func (s *Store) Write(ctx context.Context, fn func(domain.Tx) error) error {
	return s.work.InTx(ctx, pg.Scope{}, func(t *pg.Tx) error { return fn(&tx{t, s}) })
}

type tx struct {
	*pg.Tx
	store *Store
}

// exec runs one statement.
func (t *tx) exec(what, sql string, args ...any) (int64, error) {
	r := t.Exec(sql, args...)
	if r.Error != nil {
		return 0, fmt.Errorf("%s: %w", what, r.Error)
	}
	return r.RowsAffected, nil
}

// many reads rows.
func many[R any](t *tx, what, sql string, args ...any) ([]R, error) {
	rows, err := gorm.G[R](t.DB).Raw(sql, args...).Find(t.Context())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return rows, nil
}

// one reads exactly one row; none is fault.NotFound with that sentence.
func one[R any](t *tx, what, missing, sql string, args ...any) (R, error) {
	rows, err := many[R](t, what, sql, args...)
	if err != nil || len(rows) == 0 {
		var zero R
		if err == nil {
			err = fault.New(fault.NotFound, missing)
		}
		return zero, err
	}
	return rows[0], nil
}

// operators stands for the org of a caller who has none, which every writer here is.
const operators = "operators"

// Claim makes the request's idempotency key this transaction's.
func (t *tx) Claim() error {
	k, ok := idem.From(t.Context())
	if !ok {
		return errors.New("inventory: the operation takes no idempotency key")
	}
	if k.Org == "" {
		k.Org = operators
	}
	return idem.Claim(t.Tx, k)
}

// Remember keeps the answer for the claimed key.
func (t *tx) Remember(status int, answer any) error {
	k, _ := idem.From(t.Context())
	if k.Org == "" {
		k.Org = operators
	}
	return idem.Save(t.Tx, k, status, answer)
}

// Publish puts the node with its cards into the feed.
func (t *tx) Publish(n domain.Node, gpus []domain.GPU) error {
	if err := outbox.Put(t.Tx, t.store.clk, domain.Feed, n.ID, "", domain.NewItem(n, gpus)); err != nil {
		return fmt.Errorf("publish node %s: %w", n.ID, err)
	}
	t.AfterCommit(t.store.published)
	return nil
}

// column is a jsonb column of Go type T.
type column[T any] struct{ V T }

// Scan reads the column; NULL leaves the zero value.
func (c *column[T]) Scan(src any) error {
	switch src := src.(type) {
	case nil:
		return nil
	case []byte:
		return json.Unmarshal(src, &c.V)
	case string:
		return json.Unmarshal([]byte(src), &c.V)
	}
	return fmt.Errorf("scan JSON from %T", src)
}

// Value writes the column.
func (c column[T]) Value() (driver.Value, error) {
	b, err := json.Marshal(c.V)
	return string(b), err
}
