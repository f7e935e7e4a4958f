// Package api owns the handlers of faults.
package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/sim/internal/api/publicgen"
	"github.com/weirhq/weir/services/sim/internal/app"
	"github.com/weirhq/weir/services/sim/internal/domain"
)

// New returns the service's handler.
func New(a *app.App, env host.Env, service string) (http.Handler, error) {
	spec, err := publicgen.GetSpec()
	if err != nil {
		return nil, err
	}
	return httpx.NewEngine(httpx.Options{
		Service: service, Log: env.Log, Clock: env.Real, Verifier: authn.NewVerifier(env.GatewayKey, service, env.Real),
		Doors: []httpx.Door{{Spec: spec, Register: func(r gin.IRouter) {
			h := publicgen.NewStrictHandlerWithOptions(handlers{a}, nil, publicgen.StrictGinServerOptions(httpx.StrictOptions()))
			publicgen.RegisterHandlersWithOptions(r, h, publicgen.GinServerOptions{ErrorHandler: httpx.BindError})
		}}},
	}), nil
}

type handlers struct{ app *app.App }

func (h handlers) CreateSimFault(ctx context.Context, r publicgen.CreateSimFaultRequestObject) (publicgen.CreateSimFaultResponseObject, error) {
	f := domain.Fault{Kind: domain.Kind(r.Body.Kind), GPU: r.Body.GPU, Xid: r.Body.Xid}
	if r.Body.Seconds != nil {
		f.Seconds = *r.Body.Seconds
	}
	if r.Body.Direction != nil {
		f.Direction = domain.Direction(*r.Body.Direction)
	}
	f, err := h.app.Inject(ctx, r.Name, f)
	if err != nil {
		return nil, err
	}
	return publicgen.CreateSimFault202JSONResponse{ID: f.ID, Kind: publicgen.SimFaultKind(f.Kind)}, nil
}
