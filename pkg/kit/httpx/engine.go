package httpx

import (
	"log/slog"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/authz"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/problem"
)

// MaxBody is the largest request body that is read.
const MaxBody = 1 << 20

// Options is what an engine needs.
type Options struct {
	Service string
	Log     *slog.Logger
	Clock   clock.Clock
	Doors   []Door
	// Verifier checks the internal tokens that the gateway sends.
	Verifier *authn.Verifier
	// Identify finds the caller of a request some other way than by the mesh and its
	// internal tokens. Only the gateway sets it.
	Identify func(*http.Request) (actor.Actor, error)
	// Rules says who may call what; nil means authz.Table.
	Rules authz.Rules
	// Mounts are handlers of GET paths that other services of the mesh may call and that
	// check by mesh.Peer themselves who of them: the feeds.
	Mounts map[string]http.Handler
	// Use runs before every door, after the request has its id and log.
	Use []gin.HandlerFunc
	// NoRoute answers what no door knows, instead of a 404.
	NoRoute gin.HandlerFunc
	// AccessLevel is the level of the access log's lines for requests that did not fail.
	AccessLevel slog.Level
}

// Door is one OpenAPI document with the handlers of its operations.
type Door struct {
	Spec *openapi3.T
	// Register registers the generated handlers on r, which checks every request first.
	Register func(r gin.IRouter)
}

func init() { gin.SetMode(gin.ReleaseMode) } // a global of gin; set once, before any engine

// NewEngine returns the handler of a service. It panics on a document that does not
// compile or on routes that collide: both are compiled into the program.
func NewEngine(o Options) *gin.Engine {
	if o.Identify == nil {
		o.Identify = identifier(o.Verifier)
	}
	if o.Rules == nil {
		o.Rules = authz.Table
	}
	e := gin.New()
	e.ContextWithFallback = true // handlers get the request's cancellation and values
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.Use(requestID(o), access(o), recovery, cap1MiB)
	e.Use(o.Use...)
	if o.NoRoute == nil {
		o.NoRoute = func(c *gin.Context) { fail(c, fault.New(fault.NotFound, "There is nothing at this path.")) }
	}
	e.NoRoute(o.NoRoute)
	e.NoMethod(func(c *gin.Context) {
		fail(c, fault.New(problem.MethodNotAllowed, "This path does not answer to "+c.Request.Method+"."))
	})
	for _, d := range o.Doors {
		d.Register(e.Group("", compile(d.Spec, o.Rules).guard(o)))
	}
	for path, h := range o.Mounts {
		e.GET(path, peersOnly, gin.WrapH(h))
	}
	return e
}

// fail ends a request with a problem.
func fail(c *gin.Context, err error) {
	WriteProblem(c.Writer, c.Request, err)
	c.Abort()
}
