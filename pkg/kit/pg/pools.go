package pg

import (
	"context"
	"errors"
)

// Pools are the two pools that a running service works with: API under row-level security
// for requests, Work for its loops. The zero value has none.
type Pools struct{ API, Work *DB }

// OpenPools opens both, each with at most maxConns connections. When it fails, nothing is open.
func OpenPools(ctx context.Context, d Database, schema string, maxConns int) (p Pools, err error) {
	if p.API, err = Open(ctx, d, schema, API, maxConns); err != nil {
		return Pools{}, err
	}
	if p.Work, err = Open(ctx, d, schema, Work, maxConns); err != nil {
		return Pools{}, errors.Join(err, p.API.Close())
	}
	return p, nil
}

// Ping asks both for an answer.
func (p Pools) Ping(ctx context.Context) error {
	return errors.Join(p.API.Ping(ctx), p.Work.Ping(ctx))
}

// Close closes what is open.
func (p Pools) Close() error {
	var errs []error
	for _, db := range []*DB{p.API, p.Work} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
