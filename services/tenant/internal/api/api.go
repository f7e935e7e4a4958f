// Package api is the tenant service's HTTP: the generated doors, handlers that translate
// between the wire and the use cases, and nothing that decides.
package api

import (
	"fmt"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/tenant/internal/api/meshgen"
	"github.com/weirhq/weir/services/tenant/internal/api/publicgen"
	"github.com/weirhq/weir/services/tenant/internal/app"
)

// handlers implements both generated interfaces.
type handlers struct{ app *app.App }

var (
	_ publicgen.StrictServerInterface = handlers{}
	_ meshgen.StrictServerInterface   = handlers{}
)

// New returns the service's handler. feeds are mounted as they are.
func New(a *app.App, env host.Env, service string, feeds map[string]http.Handler) (http.Handler, error) {
	public, err := publicgen.GetSpec()
	if err != nil {
		return nil, fmt.Errorf("read the public contract: %w", err)
	}
	internal, err := meshgen.GetSpec()
	if err != nil {
		return nil, fmt.Errorf("read the internal contract: %w", err)
	}
	return httpx.NewEngine(httpx.Options{
		Service: service, Log: env.Log, Clock: env.Real, Verifier: authn.NewVerifier(env.GatewayKey, service, env.Real),
		Doors: []httpx.Door{publicDoor(public, a), internalDoor(internal, a)}, Mounts: feeds,
		Use: []gin.HandlerFunc{clientAddress},
	}), nil
}

func publicDoor(spec *openapi3.T, a *app.App) httpx.Door {
	return httpx.Door{Spec: spec, Register: func(r gin.IRouter) {
		h := publicgen.NewStrictHandlerWithOptions(handlers{a}, nil, publicgen.StrictGinServerOptions(httpx.StrictOptions()))
		publicgen.RegisterHandlersWithOptions(r, h, publicgen.GinServerOptions{ErrorHandler: httpx.BindError})
	}}
}

func internalDoor(spec *openapi3.T, a *app.App) httpx.Door {
	return httpx.Door{Spec: spec, Register: func(r gin.IRouter) {
		h := meshgen.NewStrictHandlerWithOptions(handlers{a}, nil, meshgen.StrictGinServerOptions(httpx.StrictOptions()))
		meshgen.RegisterHandlersWithOptions(r, h, meshgen.GinServerOptions{ErrorHandler: httpx.BindError})
	}}
}
