package peer

import (
	"context"
	"fmt"
	"net/http"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/api/allocatormeshapi"
	"github.com/weirhq/weir/pkg/api/inventorymeshapi"
	"github.com/weirhq/weir/pkg/api/meteringmeshapi"
	"github.com/weirhq/weir/pkg/api/tenantmeshapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/pkg/kit/mesh"
)

// The services that the gateway asks.
const (
	Tenant    = "tenant"
	Allocator = "allocator"
	Inventory = "inventory"
	Metering  = "metering"
)

// Tokens hands out internal tokens.
type Tokens interface {
	For(service string, who actor.Actor) (string, error)
}

// Peers is every service that the gateway asks.
type Peers struct {
	tokens    Tokens
	tenant    tenantmeshapi.ClientWithResponsesInterface
	allocator allocatormeshapi.ClientWithResponsesInterface
	instances allocatorapi.ClientWithResponsesInterface
	metering  meteringmeshapi.ClientWithResponsesInterface
	inventory inventorymeshapi.ClientWithResponsesInterface
}

// New returns the peers reached over m.
func New(m mesh.Mesh, tokens Tokens) (*Peers, error) {
	p := &Peers{tokens: tokens}
	var err error
	base, client := m.HTTPClient(Tenant)
	if p.tenant, err = tenantmeshapi.NewClientWithResponses(base, tenantmeshapi.WithHTTPClient(client), tenantmeshapi.WithRequestEditorFn(p.speak(Tenant))); err != nil {
		return nil, fmt.Errorf("tenant client: %w", err)
	}
	base, client = m.HTTPClient(Allocator)
	if p.allocator, err = allocatormeshapi.NewClientWithResponses(base, allocatormeshapi.WithHTTPClient(client), allocatormeshapi.WithRequestEditorFn(p.speak(Allocator))); err != nil {
		return nil, fmt.Errorf("allocator client: %w", err)
	}
	if p.instances, err = allocatorapi.NewClientWithResponses(base, allocatorapi.WithHTTPClient(client), allocatorapi.WithRequestEditorFn(p.speak(Allocator))); err != nil {
		return nil, fmt.Errorf("allocator client: %w", err)
	}
	base, client = m.HTTPClient(Metering)
	if p.metering, err = meteringmeshapi.NewClientWithResponses(base, meteringmeshapi.WithHTTPClient(client), meteringmeshapi.WithRequestEditorFn(p.speak(Metering))); err != nil {
		return nil, fmt.Errorf("metering client: %w", err)
	}
	base, client = m.HTTPClient(Inventory)
	if p.inventory, err = inventorymeshapi.NewClientWithResponses(base, inventorymeshapi.WithHTTPClient(client), inventorymeshapi.WithRequestEditorFn(p.speak(Inventory))); err != nil {
		return nil, fmt.Errorf("inventory client: %w", err)
	}
	return p, nil
}

// speak adds the request's id and, for the caller in the context, a token for service.
func (p *Peers) speak(service string) func(context.Context, *http.Request) error {
	return func(ctx context.Context, r *http.Request) error {
		httpx.ForwardRequestID(r)
		who := actor.From(ctx)
		if who.Kind == actor.Anonymous {
			return nil
		}
		token, err := p.tokens.For(service, who)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

// ourselves is ctx without a caller: what the gateway asks for itself.
func ourselves(ctx context.Context) context.Context { return actor.With(ctx, actor.Actor{}) }
