// Package guess limits password guessing in one process: so many failed tries per
// account, per address and in all within a sliding window. Behind several processes a
// shared implementation of the same port takes its place.
package guess

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// Limits is how many tries fail within Window before more are refused unchecked.
type Limits struct {
	Account, Address, Total int
	Window                  time.Duration
}

// DefaultLimits lets a person mistype and a guesser despair.
var DefaultLimits = Limits{Account: 10, Address: 100, Total: 5000, Window: 10 * time.Minute}

// total is the key under which every try counts. It bounds the memory too: there are
// never more keys than twice as many as tries in all.
const total = "total"

// Limiter counts tries.
type Limiter struct {
	limits Limits
	clk    clock.Clock

	mu    sync.Mutex
	tries map[string][]time.Time // oldest first
}

var _ domain.Guesses = (*Limiter)(nil)

// New returns a limiter that remembers nothing yet.
func New(l Limits, clk clock.Clock) *Limiter {
	return &Limiter{limits: l, clk: clk, tries: map[string][]time.Time{}}
}

// Take counts a try before the password is looked at, so that a thousand at once are
// refused as surely as a thousand in a row.
func (l *Limiter) Take(_ context.Context, email, address string) (func(), error) {
	now := l.clk.Now()
	keys, caps := []string{total, "account:" + email}, []int{l.limits.Total, l.limits.Account}
	if network := network(address); network != "" {
		keys, caps = append(keys, "address:"+network), append(caps, l.limits.Address)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(now)
	for i, k := range keys {
		if seen := l.tries[k]; len(seen) >= caps[i] {
			return nil, &fault.Error{Code: fault.RateLimited, Public: "Too many failed logins; try again later.", RetryAfter: max(seen[0].Add(l.limits.Window).Sub(now), time.Second)}
		}
	}
	for _, k := range keys {
		l.tries[k] = append(l.tries[k], now)
	}
	var once sync.Once
	return func() { once.Do(func() { l.refund(keys, now) }) }, nil
}

// forget drops tries older than the window. Every try is in total, so when nothing has
// grown old there, nothing has anywhere.
func (l *Limiter) forget(now time.Time) {
	start := now.Add(-l.limits.Window)
	if all := l.tries[total]; len(all) == 0 || all[0].After(start) {
		return
	}
	for k, at := range l.tries {
		l.keep(k, slices.DeleteFunc(at, func(t time.Time) bool { return !t.After(start) }))
	}
}

func (l *Limiter) refund(keys []string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		if i := slices.IndexFunc(l.tries[k], at.Equal); i >= 0 {
			l.keep(k, slices.Delete(l.tries[k], i, i+1))
		}
	}
}

func (l *Limiter) keep(k string, at []time.Time) {
	if len(at) == 0 {
		delete(l.tries, k)
		return
	}
	l.tries[k] = at
}

// network is what an address counts as: itself, or for IPv6 the /64 that one subscriber
// usually has. Empty when unknown.
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	p, _ := a.Prefix(64) // 64 bits are valid for every IPv6 address
	return p.String()
}
