package store

import (
	"context"
	"errors"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// Store implements domain.Store over the schema's api and work roles.
type Store struct {
	api, work *pg.DB
	clk       clock.Clock
	wake      func()
}

var _ domain.Store = (*Store)(nil)

// New returns a store.
func New(api, work *pg.DB, clk clock.Clock) *Store {
	return &Store{api: api, work: work, clk: clk, wake: func() {}}
}

// OnPublish sets what is called after a commit that published something. It must be
// called before the store is used.
func (s *Store) OnPublish(wake func()) { s.wake = wake }

// tx implements all three kinds of transactions; which of them a caller holds decides
// what it can reach, and the database role what it can see.
type tx struct {
	*pg.Tx
	store     *Store
	inOrg     string // of InOrg; its statements name it too, row security being the second wall
	publishes bool
}

var (
	_ domain.OrgTx      = (*tx)(nil)
	_ domain.OperatorTx = (*tx)(nil)
	_ domain.DoorTx     = (*tx)(nil)
)

// InOrg implements domain.Store.
func (s *Store) InOrg(ctx context.Context, org string, fn func(tx domain.OrgTx) error) error {
	if org == "" {
		return fault.New(fault.Forbidden, "This operation is for members of an org only.")
	}
	return s.in(ctx, s.api, pg.Scope{Org: org}, func(t *tx) error { return fn(t) })
}

// AsOperator implements domain.Store.
func (s *Store) AsOperator(ctx context.Context, fn func(tx domain.OperatorTx) error) error {
	return s.in(ctx, s.api, pg.Scope{Operator: true}, func(t *tx) error { return fn(t) })
}

// AtDoor implements domain.Store.
func (s *Store) AtDoor(ctx context.Context, fn func(tx domain.DoorTx) error) error {
	return s.in(ctx, s.work, pg.Scope{}, func(t *tx) error { return fn(t) })
}

func (s *Store) in(ctx context.Context, db *pg.DB, scope pg.Scope, fn func(t *tx) error) error {
	return translate(db.InTx(ctx, scope, func(inner *pg.Tx) error { return fn(&tx{Tx: inner, store: s, inOrg: scope.Org}) }))
}

// translate names the refusals behind our constraints; the rest stays as it is.
func translate(err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	switch pg.Constraint(err) {
	case "account_email":
		return fault.Wrap(fault.Conflict, "An account with this e-mail address exists already.", err)
	case "membership_one_org":
		return fault.Wrap(fault.Conflict, "This person already belongs to an org.", err)
	case "project_name":
		return fault.Wrap(fault.Conflict, "A project with this name exists already.", err)
	}
	return err
}

func notFound(what string) error { return fault.New(fault.NotFound, "There is no such "+what+".") }

func null(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// one returns the single row of rows.
func one[T any](rows []T, err error, what string) (T, error) {
	if err == nil && len(rows) == 0 {
		err = notFound(what)
	}
	if err != nil {
		var none T
		return none, err
	}
	return rows[0], nil
}
