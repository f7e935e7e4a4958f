package pgtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
)

func TestNewGivesAMigratedDatabase(t *testing.T) {
	t.Parallel()
	s := time.Now()
	d := pgtest.New(t, "tenant")
	t.Log("new", time.Since(s))
	db := pgtest.Open(t, d, "tenant", pg.Work, 2)
	t.Log("open", time.Since(s))
	var n int
	require.NoError(t, db.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return tx.Raw(`SELECT count(*) FROM outbox`).Scan(&n).Error
	}))
	t.Log("tx", time.Since(s))
}

func TestTwentyClonesAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		t.Run("clone", func(t *testing.T) {
			t.Parallel()
			s := time.Now()
			d := pgtest.New(t)
			t.Log("new", time.Since(s))
			pgtest.Open(t, d, "allocator", pg.API, 1)
		})
	}
}
