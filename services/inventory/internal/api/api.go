// Package api owns the inventory's handlers: it turns generated types into the domain's and
// back. Operators, agents (behind the gateway) and other services each have a document.
package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/inventory/internal/api/agentgen"
	"github.com/weirhq/weir/services/inventory/internal/api/meshgen"
	"github.com/weirhq/weir/services/inventory/internal/api/publicgen"
	"github.com/weirhq/weir/services/inventory/internal/app"
)

// New returns the service's handler.
func New(a *app.App, env host.Env, service string, mounts map[string]http.Handler) (http.Handler, error) {
	public, err := publicgen.GetSpec()
	if err != nil {
		return nil, err
	}
	mesh, err := meshgen.GetSpec()
	if err != nil {
		return nil, err
	}
	agent, err := agentgen.GetSpec()
	if err != nil {
		return nil, err
	}
	return httpx.NewEngine(httpx.Options{
		Service: service, Log: env.Log, Clock: env.Real, Mounts: mounts,
		Verifier: authn.NewVerifier(env.GatewayKey, service, env.Real),
		Doors: []httpx.Door{
			{Spec: public, Register: func(r gin.IRouter) {
				h := publicgen.NewStrictHandlerWithOptions(operators{a}, nil, publicgen.StrictGinServerOptions(httpx.StrictOptions()))
				publicgen.RegisterHandlersWithOptions(r, h, publicgen.GinServerOptions{ErrorHandler: httpx.BindError})
			}},
			{Spec: mesh, Register: func(r gin.IRouter) {
				h := meshgen.NewStrictHandlerWithOptions(peers{a}, nil, meshgen.StrictGinServerOptions(httpx.StrictOptions()))
				meshgen.RegisterHandlersWithOptions(r, h, meshgen.GinServerOptions{ErrorHandler: httpx.BindError})
			}},
			{Spec: agent, Register: func(r gin.IRouter) {
				h := agentgen.NewStrictHandlerWithOptions(agents{a}, nil, agentgen.StrictGinServerOptions(httpx.StrictOptions()))
				agentgen.RegisterHandlersWithOptions(r, h, agentgen.GinServerOptions{ErrorHandler: httpx.BindError})
			}},
		},
	}), nil
}

// operators serves the public document, peers the one between services, agents the agents'.
type (
	operators struct{ app *app.App }
	peers     struct{ app *app.App }
	agents    struct{ app *app.App }
)

// value is what p points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// orNil is a pointer to v, or nil for the zero value: absent is null.
func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
