package httpx

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/obs"
)

// RequestIDHeader carries the id of a request, in and out.
const RequestIDHeader = "X-Request-Id"

// requestID keeps the caller's id when it is sane, else makes one, and puts the logger
// where WriteProblem finds it.
func requestID(o Options) gin.HandlerFunc {
	return func(c *gin.Context) {
		rid := c.GetHeader(RequestIDHeader)
		if !saneRequestID(rid) {
			rid = id.New(id.Request, o.Clock.Now())
		}
		c.Request.Header.Set(RequestIDHeader, rid)
		c.Header(RequestIDHeader, rid)
		c.Header("X-Content-Type-Options", "nosniff")
		c.Request = c.Request.WithContext(obs.WithLogger(obs.WithRequestID(c.Request.Context(), rid), o.Log))
	}
}

func saneRequestID(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for _, b := range []byte(s) {
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		case b == '-' || b == '_' || b == '.' || b == ':' || b == '+' || b == '/' || b == '=' || b == '@':
		default:
			return false
		}
	}
	return true
}

// ForwardRequestID is a request editor for generated clients: the peer logs under the
// same id.
func ForwardRequestID(r *http.Request) {
	if rid := obs.RequestID(r.Context()); rid != "" {
		r.Header.Set(RequestIDHeader, rid)
	}
}

// access writes one line per request when it is done.
func access(o Options) gin.HandlerFunc {
	return func(c *gin.Context) {
		start := o.Clock.Now()
		defer func() {
			status, level := c.Writer.Status(), o.AccessLevel
			if status >= 500 {
				level = slog.LevelWarn
			}
			ctx := c.Request.Context()
			o.Log.Log(ctx, level, "request", "method", c.Request.Method, "route", c.FullPath(), "status", status,
				"ms", o.Clock.Now().Sub(start).Milliseconds(), "bytes", c.Writer.Size(), "peer", mesh.Peer(ctx))
		}()
		c.Next()
	}
}

// recovery turns a panic into an internal problem. The abort that a reverse proxy uses
// to cut a half-sent answer goes on up.
func recovery(c *gin.Context) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(v)
		}
		obs.Logger(c.Request.Context()).ErrorContext(c.Request.Context(), "panic", "value", fmt.Sprint(v), "stack", string(debug.Stack()))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler) // the caller must not take half an answer for a whole one
		}
		fail(c, fault.From(fmt.Errorf("panic: %v", v)))
	}()
	c.Next()
}

// cap1MiB refuses bodies that say they are too large and stops reading those that lie.
func cap1MiB(c *gin.Context) {
	if c.Request.ContentLength > MaxBody {
		fail(c, tooLarge())
		return
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, MaxBody)
}

func tooLarge() error {
	return fault.New(fault.TooLarge, "The request body is larger than 1 MiB.")
}

// peersOnly lets in other services that speak for themselves.
func peersOnly(c *gin.Context) {
	if mesh.Peer(c.Request.Context()) == "" || c.GetHeader("Authorization") != "" {
		fail(c, fault.New(fault.Forbidden, "This path is for other services only."))
	}
}
