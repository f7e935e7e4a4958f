package limit

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/httpx"
)

// free are the paths that a load balancer asks all the time.
var free = map[string]bool{"/healthz": true, "/readyz": true}

// Middleware counts each request and refuses what is too much, before anything else is
// done for it.
func Middleware(l Limiter) gin.HandlerFunc {
	return func(c *gin.Context) {
		if free[c.Request.URL.Path] {
			return
		}
		class, key := classify(c.Request)
		d := l.Take(c.Request.Context(), class, key)
		headers(c.Writer.Header(), class, d)
		if !d.OK {
			httpx.WriteProblem(c.Writer, c.Request, Refusal(d))
			c.Abort()
		}
	}
}

// Refusal is the fault of a request that was too much.
func Refusal(d Decision) error {
	f := fault.New(fault.RateLimited, "Too many requests; slow down.")
	f.RetryAfter = d.Reset
	return f
}

// classify counts by credential where there is one, whatever it is worth, else by
// address. Signing in is counted by address: its credential is in the body.
func classify(r *http.Request) (Class, string) {
	if strings.HasPrefix(r.URL.Path, "/v1/auth/") {
		return Auth, Address(r)
	}
	if h := r.Header.Get("Authorization"); h != "" {
		sum := sha256.Sum256([]byte(h))
		return API, base64.RawStdEncoding.EncodeToString(sum[:])
	}
	return API, Address(r)
}

// Host is the caller's network address.
func Host(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// Address is what a caller is counted by without a credential: its network address, of
// which an IPv6 caller has a whole /64.
func Address(r *http.Request) string {
	host := Host(r)
	ip := net.ParseIP(host)
	if ip == nil || ip.To4() != nil {
		return host
	}
	return ip.Mask(net.CIDRMask(64, 128)).String()
}

// headers says the budget as draft-ietf-httpapi-ratelimit-headers does.
func headers(h http.Header, class Class, d Decision) {
	if d.Limit == 0 {
		return
	}
	h.Set("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=1", class, d.Limit))
	h.Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", class, d.Remaining, int((d.Reset+time.Second-1)/time.Second)))
}
