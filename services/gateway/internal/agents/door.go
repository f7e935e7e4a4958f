package agents

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/api/inventorymeshapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/services/gateway/internal/limit"
	"github.com/weirhq/weir/services/gateway/internal/proxy"
	"github.com/weirhq/weir/services/gateway/internal/tunnel"
)

// Inventory is what the door needs of the service that owns nodes' identities.
type Inventory interface {
	Authority(ctx context.Context) (*inventorymeshapi.CA, error)
	ServerCertificate(ctx context.Context, csrPEM string) (*inventorymeshapi.ServerCertificate, error)
}

// Options is what the door needs.
type Options struct {
	Hosts     []string // names and addresses by which nodes reach the door
	Clock     clock.Clock
	Log       *slog.Logger
	Mesh      mesh.Mesh
	Tokens    proxy.Tokens
	Limiter   limit.Limiter
	Inventory Inventory
	Tunnels   *tunnel.Registry
}

// Door is the agents' door.
type Door struct {
	Options
	handler  http.Handler
	identity atomic.Pointer[identity] // what the door shows
	trust    atomic.Pointer[trust]    // whom it believes
}

// route is one operation of the agent protocol and the service that answers it.
type route struct {
	method, path, service string
	timeout               time.Duration
	stranger              bool // without a certificate: the node has none yet
}

const (
	callTimeout = 30 * time.Second
	pollTimeout = 90 * time.Second // desired waits up to a minute
)

// routes is the agent protocol, version 1, but for the tunnel. When a node says that it
// is going down, it is its members that end, so the allocator hears it.
var routes = []route{
	{http.MethodPost, "/agent/v1/enroll", "inventory", callTimeout, true},
	{http.MethodPost, "/agent/v1/renew", "inventory", callTimeout, false},
	{http.MethodPost, "/agent/v1/status", "inventory", callTimeout, false},
	{http.MethodPost, "/agent/v1/reports", "allocator", callTimeout, false},
	{http.MethodGet, "/agent/v1/desired", "allocator", pollTimeout, false},
	{http.MethodPost, "/agent/v1/going_down", "allocator", callTimeout, false},
}

const tunnelPath = "/agent/v1/tunnel"

// New returns the door; Prepare gives it its certificate.
func New(o Options) (*Door, error) {
	d := &Door{Options: o}
	e := httpx.NewEngine(httpx.Options{Service: "gateway", Log: o.Log, Clock: o.Clock, AccessLevel: slog.LevelDebug})
	nodes := proxy.New(o.Mesh, o.Tokens, d.node, o.Log)
	strangers := proxy.New(o.Mesh, o.Tokens, anybody, o.Log)
	for _, r := range routes {
		p, chain := nodes, []gin.HandlerFunc{}
		if r.stranger {
			p, chain = strangers, []gin.HandlerFunc{limit.Middleware(o.Limiter)}
		}
		h, err := p.Handler(proxy.Forward{Service: r.service, Timeout: r.timeout})
		if err != nil {
			return nil, err
		}
		e.Handle(r.method, r.path, append(chain, h)...)
	}
	e.GET(tunnelPath, d.openTunnel)
	d.handler = e
	return d, nil
}

// Handler serves the door's requests.
func (d *Door) Handler() http.Handler { return d.handler }

func anybody(*http.Request) (actor.Actor, error) { return actor.Actor{}, nil }

func (d *Door) openTunnel(c *gin.Context) {
	who, err := d.node(c.Request)
	if err == nil {
		err = d.Tunnels.Upgrade(c.Writer, c.Request, who.ID, leaf(c.Request).NotAfter)
	}
	if err != nil {
		httpx.WriteProblem(c.Writer, c.Request, err)
	}
}
