// Package api owns the allocator's handlers: it turns generated types into the domain's and
// back. Tenants and operators, other services, and agents (behind the gateway) each have a
// document.
package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/pkg/kit/idem"
	"github.com/weirhq/weir/services/allocator/internal/api/agentgen"
	"github.com/weirhq/weir/services/allocator/internal/api/meshgen"
	"github.com/weirhq/weir/services/allocator/internal/api/publicgen"
	"github.com/weirhq/weir/services/allocator/internal/app"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// public serves tenants and operators, peers other services, agents nodes.
type (
	public struct{ app *app.App }
	peers  struct{ app *app.App }
	agents struct {
		app      *app.App
		logLimit int
	}
)

// Options are what handlers need besides the use cases.
type Options struct {
	Service     string
	LogLimitMiB int // how much of a member's output its node keeps
	Mounts      map[string]http.Handler
}

// New returns the service's handler.
func New(a *app.App, env host.Env, o Options) (http.Handler, error) {
	publicSpec, err := publicgen.GetSpec()
	if err != nil {
		return nil, fmt.Errorf("read the public contract: %w", err)
	}
	meshSpec, err := meshgen.GetSpec()
	if err != nil {
		return nil, fmt.Errorf("read the internal contract: %w", err)
	}
	agentSpec, err := agentgen.GetSpec()
	if err != nil {
		return nil, fmt.Errorf("read the agents' contract: %w", err)
	}
	return httpx.NewEngine(httpx.Options{
		Service: o.Service, Log: env.Log, Clock: env.Real, Mounts: o.Mounts,
		Verifier: authn.NewVerifier(env.GatewayKey, o.Service, env.Real),
		Doors: []httpx.Door{
			{Spec: publicSpec, Register: func(r gin.IRouter) {
				h := publicgen.NewStrictHandlerWithOptions(public{a}, nil, publicgen.StrictGinServerOptions(httpx.StrictOptions()))
				publicgen.RegisterHandlersWithOptions(r, h, publicgen.GinServerOptions{ErrorHandler: httpx.BindError})
			}},
			{Spec: meshSpec, Register: func(r gin.IRouter) {
				h := meshgen.NewStrictHandlerWithOptions(peers{a}, nil, meshgen.StrictGinServerOptions(httpx.StrictOptions()))
				meshgen.RegisterHandlersWithOptions(r, h, meshgen.GinServerOptions{ErrorHandler: httpx.BindError})
			}},
			{Spec: agentSpec, Register: func(r gin.IRouter) {
				h := agentgen.NewStrictHandlerWithOptions(agents{a, o.LogLimitMiB}, nil, agentgen.StrictGinServerOptions(httpx.StrictOptions()))
				agentgen.RegisterHandlersWithOptions(r, h, agentgen.GinServerOptions{ErrorHandler: httpx.BindError})
			}},
		},
	}), nil
}

// by is who acts, as history names them.
func by(who actor.Actor) domain.Actor {
	if who.Operator {
		return domain.Actor{Kind: "operator", ID: who.ID}
	}
	return domain.Actor{Kind: string(who.Kind), ID: who.ID}
}

// operators is what stands for an org in the idempotency keys of operators.
const operators = "operator"

// keyOf is the idempotency key of the request; the door made sure that there is one.
func keyOf(ctx context.Context) (domain.RequestKey, error) {
	k, ok := idem.From(ctx)
	if !ok {
		return domain.RequestKey{}, errors.New("the operation takes no idempotency key")
	}
	if k.Org == "" {
		k.Org = operators
	}
	return domain.RequestKey{Org: k.Org, Principal: k.Principal, Operation: k.Operation, Path: k.Path, Key: k.Key, Body: k.Body}, nil
}

// replayed lets the kit write the stored answer of an earlier request.
func replayed(err error) error {
	var r *domain.Replay
	if errors.As(err, &r) {
		return &idem.Replay{Status: r.Status, Answer: r.JSON}
	}
	return err
}

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
