package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/api/allocatormeshapi"
	"github.com/weirhq/weir/pkg/api/tenantmeshapi"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/gateway/internal/api/publicgen"
)

// Peers is what the pages are composed of, each asked on the caller's behalf.
type Peers interface {
	Limits(ctx context.Context) (*tenantmeshapi.Limits, error)
	LimitUsage(ctx context.Context) (*allocatormeshapi.LimitUsage, error)
	Instance(ctx context.Context, id string) (*allocatorapi.Instance, error)
}

// Nodes reaches nodes over their tunnels.
type Nodes interface {
	Get(ctx context.Context, node, path string) (*http.Response, error)
}

// Handlers answers the gateway's own operations.
type Handlers struct {
	Clock    clock.Clock
	Peers    Peers
	Nodes    Nodes
	Contract []byte                      // the merged document
	Ready    func(context.Context) error // every part of the process
}

// Door returns the gateway's own document with its handlers.
func (h *Handlers) Door() (httpx.Door, error) {
	spec, err := publicgen.GetSpec()
	if err != nil {
		return httpx.Door{}, err
	}
	return httpx.Door{Spec: spec, Register: func(r gin.IRouter) {
		strict := publicgen.NewStrictHandlerWithOptions(h, nil, publicgen.StrictGinServerOptions(httpx.StrictOptions()))
		publicgen.RegisterHandlersWithOptions(r, strict, publicgen.GinServerOptions{ErrorHandler: httpx.BindError})
	}}, nil
}
