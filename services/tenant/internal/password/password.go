// Package password hashes and checks passwords with argon2id. Each run takes tens of
// milliseconds and megabytes on purpose, so only a few run at once and only so many wait.
package password

import (
	"context"
	"fmt"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// Cost is what one hash takes.
type Cost struct {
	MemoryKiB  uint32
	Iterations uint32
}

// DefaultCost follows OWASP's second argon2id profile with room to spare.
var DefaultCost = Cost{MemoryKiB: 46 * 1024, Iterations: 1}

// Pool runs at most a few hashes at once.
type Pool struct {
	params  *argon2id.Params
	running chan struct{}
	places  chan struct{} // running and waiting together
	nobody  string        // the hash of no password, for accounts that do not exist
}

var _ domain.Passwords = (*Pool)(nil)

// New returns a pool of size runners with room for waiters more.
func New(cost Cost, size, waiters int) (*Pool, error) {
	p := &Pool{
		params:  &argon2id.Params{Memory: cost.MemoryKiB, Iterations: cost.Iterations, Parallelism: 1, SaltLength: 16, KeyLength: 32},
		running: make(chan struct{}, size),
		places:  make(chan struct{}, size+waiters),
	}
	nobody, err := argon2id.CreateHash(domain.RandomPassword(), p.params)
	if err != nil {
		return nil, fmt.Errorf("hash a password: %w", err)
	}
	p.nobody = nobody
	return p, nil
}

// Hash returns the stored form of a password.
func (p *Pool) Hash(ctx context.Context, password string) (hash string, err error) {
	err = p.run(ctx, func() (err error) {
		hash, err = argon2id.CreateHash(password, p.params)
		return err
	})
	return hash, err
}

// Check reports whether password is the one behind hash.
func (p *Pool) Check(ctx context.Context, password, hash string) (ok bool, err error) {
	err = p.run(ctx, func() (err error) {
		ok, err = argon2id.ComparePasswordAndHash(password, hash)
		return err
	})
	return ok, err
}

// CheckNothing costs what Check costs.
func (p *Pool) CheckNothing(ctx context.Context, password string) error {
	_, err := p.Check(ctx, password, p.nobody)
	return err
}

// run waits for a runner; when too many wait already it refuses at once, so that a flood
// of logins cannot pile up memory or time out everybody.
func (p *Pool) run(ctx context.Context, fn func() error) error {
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	default:
		return &fault.Error{Code: fault.Unavailable, Public: "Too many logins are being checked right now; try again shortly.", RetryAfter: time.Second}
	}
	select {
	case p.running <- struct{}{}:
		defer func() { <-p.running }()
	case <-ctx.Done():
		return fmt.Errorf("wait for the password pool: %w", ctx.Err())
	}
	if err := fn(); err != nil {
		return fmt.Errorf("argon2id: %w", err)
	}
	return nil
}
