package store

import (
	"testing"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
)

func TestMigrationsApply(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t, "allocator")
	pgtest.Open(t, d, "allocator", pg.Work, 2)
}
