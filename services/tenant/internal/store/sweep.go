package store

import (
	"context"
	"time"

	"github.com/weirhq/weir/pkg/kit/pg"
)

// sweepBatch keeps each transaction short.
const sweepBatch = 1000

// Sweep deletes refresh tokens that expired before now, and sessions that were over
// before kept. An expired token is refused as surely as an unknown one, so nothing that
// the detection of reuse needs is lost.
func (s *Store) Sweep(ctx context.Context, now, kept time.Time) error {
	if err := s.sweep(ctx, `DELETE FROM refresh_token WHERE hash IN (SELECT hash FROM refresh_token WHERE expires_at < ? LIMIT ?)`, now); err != nil {
		return err
	}
	return s.sweep(ctx, `DELETE FROM session WHERE id IN (SELECT id FROM session WHERE LEAST(expires_at, ended_at) < ? LIMIT ?)`, kept)
}

func (s *Store) sweep(ctx context.Context, query string, before time.Time) error {
	for n := int64(sweepBatch); n == sweepBatch; {
		err := s.work.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
			r := tx.Exec(query, before, sweepBatch)
			n = r.RowsAffected
			return r.Error
		})
		if err != nil {
			return err
		}
	}
	return nil
}
