package api

import (
	"context"
	"fmt"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/metering/internal/api/meshgen"
	"github.com/weirhq/weir/services/metering/internal/api/publicgen"
	"github.com/weirhq/weir/services/metering/internal/app"
)

// Public answers tenants.
type Public struct{ app *app.Service }

// Doors are metering's documents with their handlers. sync applies the peers' feeds.
func Doors(s *app.Service, sync func(ctx context.Context) error) ([]httpx.Door, error) {
	public, err := publicgen.GetSpec()
	if err != nil {
		return nil, fmt.Errorf("read the public document: %w", err)
	}
	mesh, err := meshgen.GetSpec()
	if err != nil {
		return nil, fmt.Errorf("read the document between services: %w", err)
	}
	return []httpx.Door{
		{Spec: public, Register: func(r gin.IRouter) {
			h := publicgen.NewStrictHandlerWithOptions(&Public{s}, nil, publicgen.StrictGinServerOptions(httpx.StrictOptions()))
			publicgen.RegisterHandlersWithOptions(r, h, publicgen.GinServerOptions{ErrorHandler: httpx.BindError})
		}},
		{Spec: mesh, Register: func(r gin.IRouter) {
			h := meshgen.NewStrictHandlerWithOptions(&Mesh{s, sync}, nil, meshgen.StrictGinServerOptions(httpx.StrictOptions()))
			meshgen.RegisterHandlersWithOptions(r, h, meshgen.GinServerOptions{ErrorHandler: httpx.BindError})
		}},
	}, nil
}
