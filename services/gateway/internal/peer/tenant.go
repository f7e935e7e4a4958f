package peer

import (
	"context"
	"time"

	"github.com/weirhq/weir/pkg/api/tenantmeshapi"
	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/problem"
)

// Authenticate asks the tenant service whom a credential stands for.
func (p *Peers) Authenticate(ctx context.Context, credential string) (actor.Actor, time.Time, error) {
	resp, err := p.tenant.AuthenticateWithResponse(ourselves(ctx), tenantmeshapi.Credential{Credential: credential})
	if err != nil {
		return actor.Actor{}, time.Time{}, problem.Transport(Tenant, err)
	}
	if err := check(resp.StatusCode(), resp.Body, resp.HTTPResponse, resp.JSON200 != nil); err != nil {
		return actor.Actor{}, time.Time{}, err
	}
	a := resp.JSON200
	who := actor.Actor{
		Kind: actor.Kind(a.Kind), ID: a.ID, Org: value(a.Org), Project: value(a.Project),
		Operator: a.Operator, Session: value(a.Session),
	}
	if a.Role != nil {
		who.Role = actor.Role(*a.Role)
	}
	return who, value(a.ExpiresAt), nil
}

// Limits asks for the limits of the caller's org.
func (p *Peers) Limits(ctx context.Context) (*tenantmeshapi.Limits, error) {
	resp, err := p.tenant.GetOrgLimitsWithResponse(ctx)
	if err != nil {
		return nil, problem.Transport(Tenant, err)
	}
	return resp.JSON200, check(resp.StatusCode(), resp.Body, resp.HTTPResponse, resp.JSON200 != nil)
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
