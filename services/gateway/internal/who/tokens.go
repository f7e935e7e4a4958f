package who

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/gateway/internal/lru"
)

const (
	maxTokens = 50_000
	reuse     = authn.Lifetime / 2 // a token that is handed out has at least as long to live
)

// Tokens hands out internal tokens.
type Tokens struct {
	minter *authn.Minter
	clk    clock.Clock
	minted *lru.Map[tokenKey, token]
}

type tokenKey struct {
	service string
	who     actor.Actor
}

type token struct {
	text  string
	until time.Time
}

// NewTokens returns tokens of the minter, each used for a while.
func NewTokens(m *authn.Minter, clk clock.Clock) *Tokens {
	return &Tokens{minter: m, clk: clk, minted: lru.New[tokenKey, token](maxTokens)}
}

// For returns a token that lets who act at the service.
func (t *Tokens) For(service string, who actor.Actor) (string, error) {
	key, now := tokenKey{service, who}, t.clk.Now()
	if have, ok := t.minted.Get(key); ok && now.Before(have.until) {
		return have.text, nil
	}
	text, err := t.minter.Mint(service, who)
	if err != nil {
		return "", err
	}
	t.minted.Put(key, token{text, now.Add(reuse)})
	return text, nil
}
