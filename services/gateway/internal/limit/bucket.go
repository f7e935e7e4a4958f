package limit

import (
	"context"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/gateway/internal/lru"
)

// maxBuckets bounds memory: a caller whose bucket is forgotten starts with a full one.
const maxBuckets = 50_000

// burst is how many seconds of budget may be spent at once.
const burst = 2

// Buckets is the in-process limiter: a token bucket per class and key.
type Buckets struct {
	clk     clock.Clock
	rates   map[Class]int
	buckets *lru.Map[bucketKey, *rate.Limiter]
}

type bucketKey struct {
	class Class
	key   string
}

// NewBuckets allows perSecond requests per credential; the auth class, which an office behind
// one address shares, gets a fifth.
// 0 switches both off.
func NewBuckets(perSecond int, clk clock.Clock) *Buckets {
	b := &Buckets{clk: clk, rates: map[Class]int{}, buckets: lru.New[bucketKey, *rate.Limiter](maxBuckets)}
	if perSecond > 0 {
		b.rates[API], b.rates[Auth] = perSecond, max(1, perSecond/5)
	}
	return b
}

// Take counts one request.
func (b *Buckets) Take(_ context.Context, class Class, key string) Decision {
	return b.ask(class, key, func(l *rate.Limiter, now time.Time) bool { return l.AllowN(now, 1) })
}

// Peek counts nothing.
func (b *Buckets) Peek(_ context.Context, class Class, key string) Decision {
	return b.ask(class, key, func(l *rate.Limiter, now time.Time) bool { return l.TokensAt(now) >= 1 })
}

func (b *Buckets) ask(class Class, key string, ok func(*rate.Limiter, time.Time) bool) Decision {
	per := b.rates[class]
	if per == 0 {
		return Decision{OK: true}
	}
	l := b.buckets.GetOrPut(bucketKey{class, key}, func() *rate.Limiter { return rate.NewLimiter(rate.Limit(per), per*burst) })
	now := b.clk.Now()
	d := Decision{OK: ok(l, now), Limit: per}
	left := l.TokensAt(now)
	d.Remaining = max(0, int(left))
	missing := float64(per*burst) - left
	if !d.OK {
		missing = 1 - left
	}
	d.Reset = time.Duration(math.Ceil(max(0, missing) / float64(per) * float64(time.Second)))
	return d
}
