package pg_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
)

// The idempotency table stands for every table whose rows belong to an org.
const insertKey = `INSERT INTO idempotency (org, principal, operation, path, key, body) VALUES (?, 'p', 'o', '/', ?, sha256('x'))`

func orgsSeen(t *testing.T, db *pg.DB, s pg.Scope) []string {
	t.Helper()
	out := []string{}
	require.NoError(t, db.InTx(t.Context(), s, func(tx *pg.Tx) error {
		return tx.Raw(`SELECT org FROM idempotency ORDER BY org, key`).Scan(&out).Error
	}))
	return out
}

func insert(t *testing.T, db *pg.DB, s pg.Scope, org, key string) error {
	t.Helper()
	return db.InTx(t.Context(), s, func(tx *pg.Tx) error { return tx.Exec(insertKey, org, key).Error })
}

// One connection serves all orgs in turn, as the role that requests run as.
func TestScopeNeverStaysOnTheConnection(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "tenant"), "tenant", pg.API, 1)
	for _, org := range []string{"org_a", "org_b"} {
		require.NoError(t, insert(t, db, pg.Scope{Org: org}, org, "1"))
	}
	require.Empty(t, orgsSeen(t, db, pg.Scope{}), "the zero scope sees no org")
	for range 3 {
		for _, org := range []string{"org_a", "org_b"} {
			require.Equal(t, []string{org}, orgsSeen(t, db, pg.Scope{Org: org}))
			// However the transaction ends, nothing of it stays.
			failed := errors.New("refused")
			require.ErrorIs(t, db.InTx(t.Context(), pg.Scope{Org: org, Operator: true}, func(*pg.Tx) error { return failed }), failed)
			require.Empty(t, orgsSeen(t, db, pg.Scope{}))
			require.Error(t, db.InTx(t.Context(), pg.Scope{Org: org}, func(tx *pg.Tx) error { return tx.Exec(`SELECT 1/0`).Error }))
			require.Empty(t, orgsSeen(t, db, pg.Scope{}))
			require.Panics(t, func() {
				_ = db.InTx(t.Context(), pg.Scope{Org: org, Operator: true}, func(*pg.Tx) error { panic("bug") })
			})
			require.Empty(t, orgsSeen(t, db, pg.Scope{}))
		}
	}
	require.Equal(t, []string{"org_a", "org_b"}, orgsSeen(t, db, pg.Scope{Operator: true}))
	require.Empty(t, orgsSeen(t, db, pg.Scope{Org: "' OR true --"}), "a scope is a value, not SQL")
	require.Error(t, db.InTx(t.Context(), pg.Scope{Org: "a\x00b"}, func(*pg.Tx) error { return nil }))
}

func TestScopeHoldsForWritesToo(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t, "tenant")
	db := pgtest.Open(t, d, "tenant", pg.API, 2)
	require.NoError(t, insert(t, db, pg.Scope{Org: "org_a"}, "org_a", "1"))
	require.ErrorContains(t, insert(t, db, pg.Scope{Org: "org_b"}, "org_a", "2"), "row-level security")
	require.ErrorContains(t, insert(t, db, pg.Scope{}, "org_a", "2"), "row-level security")
	require.NoError(t, db.InTx(t.Context(), pg.Scope{Org: "org_b"}, func(tx *pg.Tx) error {
		r := tx.Exec(`UPDATE idempotency SET status = 200`)
		require.Zero(t, r.RowsAffected, "another org's row is not there")
		r = tx.Exec(`DELETE FROM idempotency`)
		require.Zero(t, r.RowsAffected)
		return r.Error
	}))
	// A batch of two orgs in one transaction: only with the operator's scope, or as work.
	two := func(tx *pg.Tx) error {
		return errors.Join(tx.Exec(insertKey, "org_a", "b").Error, tx.Exec(insertKey, "org_b", "b").Error)
	}
	require.Error(t, db.InTx(t.Context(), pg.Scope{Org: "org_a"}, two))
	require.NoError(t, pgtest.Open(t, d, "tenant", pg.Work, 1).InTx(t.Context(), pg.Scope{}, two))
	require.Equal(t, []string{"org_a", "org_a"}, orgsSeen(t, db, pg.Scope{Org: "org_a"}))
}

func TestManyOrgsOnFewConnections(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "tenant"), "tenant", pg.API, 2)
	orgs := []string{"org_a", "org_b", "org_c", "org_d"}
	for _, org := range orgs {
		require.NoError(t, insert(t, db, pg.Scope{Org: org}, org, "1"))
	}
	var wg sync.WaitGroup
	for _, org := range orgs {
		wg.Go(func() {
			for range 50 {
				var got []string
				err := db.InTx(t.Context(), pg.Scope{Org: org}, func(tx *pg.Tx) error {
					return tx.Raw(`SELECT org FROM idempotency`).Scan(&got).Error
				})
				if err != nil || len(got) != 1 || got[0] != org {
					t.Errorf("%s saw %v, %v", org, got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestTransactionsOptions(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "tenant"), "tenant", pg.Work, 1)
	show := func(s pg.Scope, setting string) (v string) {
		require.NoError(t, db.InTx(t.Context(), s, func(tx *pg.Tx) error { return tx.Raw(`SELECT current_setting(?)`, setting).Scan(&v).Error }))
		return v
	}
	require.Equal(t, "read committed", show(pg.Scope{}, "transaction_isolation"))
	require.Equal(t, "serializable", show(pg.Scope{Serializable: true}, "transaction_isolation"))
	require.Equal(t, "on", show(pg.Scope{ReadOnly: true}, "transaction_read_only"))
	require.Equal(t, "30s", show(pg.Scope{}, "statement_timeout"))
	require.Equal(t, "30s", show(pg.Scope{}, "idle_in_transaction_session_timeout"))
	require.Error(t, insert(t, db, pg.Scope{ReadOnly: true}, "org_a", "1"))

	var at time.Time
	require.NoError(t, db.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error { return tx.Raw(`SELECT now()`).Scan(&at).Error }))
	require.Equal(t, time.UTC, at.Location())
}

func TestNestedTransactionIsASavepoint(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "tenant"), "tenant", pg.Work, 1)
	require.NoError(t, db.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		require.NoError(t, tx.Exec(insertKey, "org_a", "1").Error)
		require.Error(t, tx.Transaction(func(inner *gorm.DB) error {
			require.NoError(t, inner.Exec(insertKey, "org_a", "2").Error)
			return errors.New("not this one")
		}))
		require.Error(t, tx.Commit().Error, "only InTx commits")
		return nil
	}))
	require.Equal(t, []string{"org_a"}, orgsSeen(t, db, pg.Scope{}))
}

type driftingRow struct {
	Org    string
	Answer string
	Colour string
}

func (driftingRow) TableName() string { return "idempotency" }

func TestDrift(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "tenant"), "tenant", pg.Work, 1)
	missing, err := db.Drift(t.Context(), &driftingRow{})
	require.NoError(t, err)
	require.Equal(t, []string{"idempotency.colour"}, missing)
}
