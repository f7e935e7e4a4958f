package proxy

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/problem"
	"github.com/weirhq/weir/services/gateway/internal/limit"
)

// Tokens hands out internal tokens.
type Tokens interface {
	For(service string, who actor.Actor) (string, error)
}

// Proxy forwards the requests of one door.
type Proxy struct {
	mesh     mesh.Mesh
	tokens   Tokens
	identify func(*http.Request) (actor.Actor, error)
	errors   *log.Logger
}

// New returns the proxy of a door that finds its callers with identify.
func New(m mesh.Mesh, tokens Tokens, identify func(*http.Request) (actor.Actor, error), l *slog.Logger) *Proxy {
	return &Proxy{mesh: m, tokens: tokens, identify: identify, errors: slog.NewLogLogger(l.Handler(), slog.LevelWarn)}
}

// Forward is where and how requests go on.
type Forward struct {
	Service string
	// Public operations serve anybody: a credential that is no longer good does not stand in
	// the way of signing in again.
	Public  bool
	Timeout time.Duration // 0 for answers that go on for as long as the caller listens
	// Modify may change the answer. Optional.
	Modify func(*http.Response) error
}

// forwarded are the request headers that services may see. A list of what may pass cannot
// be tricked by what nobody thought of.
var forwarded = []string{
	"Accept", "Accept-Language", "Content-Type", "Content-Encoding", "Idempotency-Key", "If-Match", "If-None-Match",
	"Last-Event-Id", "User-Agent", httpx.RequestIDHeader,
}

// ours are the response headers that the door has set already.
var ours = []string{httpx.RequestIDHeader, "X-Content-Type-Options", "RateLimit", "RateLimit-Policy"}

// Handler forwards requests as f says.
func (p *Proxy) Handler(f Forward) (gin.HandlerFunc, error) {
	base, client := p.mesh.HTTPClient(f.Service)
	target, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	rp := &httputil.ReverseProxy{
		Transport: client.Transport,
		Rewrite:   func(r *httputil.ProxyRequest) { rewrite(r, target) },
		ModifyResponse: func(resp *http.Response) error {
			for _, h := range ours {
				resp.Header.Del(h)
			}
			if f.Modify != nil {
				return f.Modify(resp)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			httpx.WriteProblem(w, r, problem.Transport(f.Service, err))
		},
		ErrorLog: p.errors,
	}
	return func(c *gin.Context) {
		if err := p.prepare(c, f); err != nil {
			httpx.WriteProblem(c.Writer, c.Request, err)
			return
		}
		if f.Timeout > 0 {
			ctx, cancel := context.WithTimeout(c.Request.Context(), f.Timeout)
			defer cancel()
			c.Request = c.Request.WithContext(ctx)
		}
		rp.ServeHTTP(c.Writer, c.Request)
	}, nil
}

// prepare finds the caller, reads the body and replaces the credential.
func (p *Proxy) prepare(c *gin.Context, f Forward) error {
	who, err := p.identify(c.Request)
	if f.Public && errors.Is(err, fault.Unauthenticated) {
		who, err = actor.Actor{}, nil
	}
	if err != nil {
		return err
	}
	c.Request = c.Request.WithContext(actor.With(c.Request.Context(), who))
	if err := buffer(c.Writer, c.Request); err != nil {
		return err
	}
	c.Request.Header.Del("Authorization")
	if who.Kind == actor.Anonymous {
		return nil
	}
	token, err := p.tokens.For(f.Service, who)
	if err != nil {
		return err
	}
	c.Request.Header.Set("Authorization", "Bearer "+token)
	return nil
}

func rewrite(r *httputil.ProxyRequest, target *url.URL) {
	r.SetURL(target)
	r.Out.Host = target.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery // as it came: the service refuses what is malformed
	headers := http.Header{}
	for _, h := range append([]string{"Authorization"}, forwarded...) {
		if v := r.In.Header.Values(h); len(v) > 0 {
			headers[http.CanonicalHeaderKey(h)] = v
		}
	}
	if headers["User-Agent"] == nil {
		headers["User-Agent"] = []string{""} // do not name ourselves in the caller's place
	}
	headers.Set("X-Forwarded-For", limit.Host(r.In))
	r.Out.Header = headers
}
