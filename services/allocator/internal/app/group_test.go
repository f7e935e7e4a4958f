package app_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// TestManyClientsShareACommit shows that admission is faster than one transaction each: it
// counts commits rather than seconds, which a busy machine would spoil.
func TestManyClientsShareACommit(t *testing.T) {
	t.Parallel()
	counted := &counting{}
	b := setup(t, over(func(l domain.Ledger) domain.Ledger { counted.Ledger = l; return counted }))
	for range 4 {
		b.node("h100-80gb-sxm5", 8)
	}
	org := b.org()
	before := counted.commits
	out := race(t, 200, func(int) error { _, err := b.tryRent(org, slice); return err })
	require.Len(t, out, 1)
	b.sync()
	require.Less(t, counted.commits-before, 100, "200 requests took as many commits as requests")
}

// counting is used by the writer's goroutine alone; sync orders the test's reads after it.
type counting struct {
	domain.Ledger
	commits int
}

func (c *counting) Commit(ctx context.Context, epoch int64, b *domain.Batch) error {
	c.commits++
	return c.Ledger.Commit(ctx, epoch, b)
}
