package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// Tokens is the answer to a renewal.
type Tokens struct {
	AccessToken, RefreshToken string
	ExpiresIn                 time.Duration
}

// early is how long before its end an access token is renewed: a request must not arrive
// with one that has just ended.
const early = 30 * time.Second

// Fresh is the session of url with an access token that is good for a while. stale is a
// token that was refused, or "".
func (s *Store) Fresh(ctx context.Context, url, stale string, renew func(ctx context.Context, refreshToken string) (Tokens, error)) (Session, error) {
	now, err := s.Get(url)
	if err != nil || s.good(now, stale) {
		return now, err
	}
	err = s.locked(ctx, func() error {
		if now, err = s.Get(url); err != nil || s.good(now, stale) {
			return err // another process renewed, or logged out
		}
		tokens, err := renew(ctx, now.RefreshToken)
		if errors.Is(err, fault.Unauthenticated) {
			return errors.Join(fault.Wrap(fault.Unauthenticated, "Your session has ended.", err), s.forget(url))
		}
		if err != nil {
			return fmt.Errorf("renew the login: %w", err)
		}
		now.AccessToken, now.RefreshToken, now.ExpiresAt = tokens.AccessToken, tokens.RefreshToken, s.Clock.Now().Add(tokens.ExpiresIn)
		return s.change(func(c *content) { c.Sessions[url] = now })
	})
	return now, err
}

func (s *Store) good(n Session, stale string) bool {
	return n.AccessToken != stale && s.Clock.Now().Add(early).Before(n.ExpiresAt)
}
