package who

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/gateway/internal/limit"
	"github.com/weirhq/weir/services/gateway/internal/lru"
)

const (
	// Remembered is how long an answer is taken for true, at most: a revoked credential
	// works no longer than this.
	Remembered = 5 * time.Second

	maxRemembered = 20_000
	maxCredential = 8192
	askTimeout    = 10 * time.Second
)

// Authenticator asks who a credential stands for, and until when at most; the zero time
// is without end. A fault of unauthenticated or forbidden is an answer too.
type Authenticator interface {
	Authenticate(ctx context.Context, credential string) (actor.Actor, time.Time, error)
}

// Credentials finds the callers of requests.
type Credentials struct {
	ask   Authenticator
	limit limit.Limiter
	clk   clock.Clock
	known *lru.Map[[32]byte, answer]
	asked singleflight.Group
}

type answer struct {
	who   actor.Actor
	err   error
	until time.Time
}

// NewCredentials returns the door's memory of credentials.
func NewCredentials(ask Authenticator, l limit.Limiter, clk clock.Clock) *Credentials {
	return &Credentials{ask: ask, limit: l, clk: clk, known: lru.New[[32]byte, answer](maxRemembered)}
}

// Identify returns the caller of a request; the anonymous actor when it brings nothing.
// Wrong credentials are counted by address, and too many of them are no longer asked about.
func (c *Credentials) Identify(r *http.Request) (actor.Actor, error) {
	credential, err := httpx.Bearer(r)
	if err != nil || credential == "" {
		return actor.Actor{}, err
	}
	ctx, key := r.Context(), sha256.Sum256([]byte(credential))
	if a, ok := c.remembered(key); ok {
		return a.who, a.err
	}
	address := limit.Address(r)
	if d := c.limit.Peek(ctx, limit.Auth, address); !d.OK {
		return actor.Actor{}, limit.Refusal(d)
	}
	a := c.find(ctx, key, credential)
	if errors.Is(a.err, fault.Unauthenticated) {
		c.limit.Take(ctx, limit.Auth, address)
	}
	return a.who, a.err
}

// IdentifyOrNobody is Identify for operations that serve anybody, such as health: a
// credential that is not good is like none. Operations that need one refuse nobody.
func (c *Credentials) IdentifyOrNobody(r *http.Request) (actor.Actor, error) {
	who, err := c.Identify(r)
	if errors.Is(err, fault.Unauthenticated) {
		return actor.Actor{}, nil
	}
	return who, err
}

func (c *Credentials) remembered(key [32]byte) (answer, bool) {
	a, ok := c.known.Get(key)
	return a, ok && c.clk.Now().Before(a.until)
}

// find asks once, however many requests come with the same credential at the same time.
// One of them going away does not spoil it for the others.
func (c *Credentials) find(ctx context.Context, key [32]byte, credential string) answer {
	if len(credential) > maxCredential {
		return answer{err: fault.New(fault.Unauthenticated, "The credential is not valid.")}
	}
	got, err, _ := c.asked.Do(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		asked := c.clk.Now() // an answer is as old as its question
		who, end, err := c.ask.Authenticate(ctx, credential)
		a := answer{who: who, err: err, until: asked.Add(Remembered)}
		switch {
		case err == nil:
			if !end.IsZero() && end.Before(a.until) {
				a.until = end
			}
			c.known.Put(key, a)
		case errors.Is(err, fault.Unauthenticated), errors.Is(err, fault.OrgSuspended):
			c.known.Put(key, a)
		}
		return a, nil
	})
	if err != nil {
		return answer{err: fmt.Errorf("ask who it is: %w", err)}
	}
	return got.(answer)
}
