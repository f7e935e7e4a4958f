package peer

import (
	"context"

	"github.com/weirhq/weir/pkg/api/inventorymeshapi"
	"github.com/weirhq/weir/pkg/kit/problem"
)

// Authority asks for what agents' certificates are checked against.
func (p *Peers) Authority(ctx context.Context) (*inventorymeshapi.CA, error) {
	resp, err := p.inventory.GetAgentsCAWithResponse(ourselves(ctx))
	if err != nil {
		return nil, problem.Transport(Inventory, err)
	}
	return resp.JSON200, check(resp.StatusCode(), resp.Body, resp.HTTPResponse, resp.JSON200 != nil)
}

// ServerCertificate asks for a certificate of the agents' door.
func (p *Peers) ServerCertificate(ctx context.Context, csrPEM string) (*inventorymeshapi.ServerCertificate, error) {
	resp, err := p.inventory.CreateServerCertificateWithResponse(ourselves(ctx), inventorymeshapi.ServerCertificateCreate{CSRPEM: csrPEM})
	if err != nil {
		return nil, problem.Transport(Inventory, err)
	}
	return resp.JSON201, check(resp.StatusCode(), resp.Body, resp.HTTPResponse, resp.JSON201 != nil)
}
