package api

import (
	"context"

	"github.com/weirhq/weir/services/inventory/internal/api/meshgen"
)

func (p peers) GetAgentsCA(ctx context.Context, _ meshgen.GetAgentsCARequestObject) (meshgen.GetAgentsCAResponseObject, error) {
	pem, pin, revoked, err := p.app.CA(ctx)
	if err != nil {
		return nil, err
	}
	answer := meshgen.GetAgentsCA200JSONResponse{CAPEM: pem, Pin: pin, Revoked: []meshgen.RevokedCertificate{}}
	for _, r := range revoked {
		answer.Revoked = append(answer.Revoked, meshgen.RevokedCertificate{Serial: r.Serial, Node: r.Node, NotAfter: r.NotAfter})
	}
	return answer, nil
}

func (p peers) CreateServerCertificate(_ context.Context, r meshgen.CreateServerCertificateRequestObject) (meshgen.CreateServerCertificateResponseObject, error) {
	c, ca, err := p.app.ServerCertificate(r.Body.CSRPEM)
	if err != nil {
		return nil, err
	}
	return meshgen.CreateServerCertificate201JSONResponse{CertificatePEM: c.PEM, CAPEM: ca, NotAfter: c.NotAfter}, nil
}

func (p peers) CreateNodeJoinToken(ctx context.Context, r meshgen.CreateNodeJoinTokenRequestObject) (meshgen.CreateNodeJoinTokenResponseObject, error) {
	t, err := p.app.CreateNodeToken(ctx, r.Body.NodeName)
	if err != nil {
		return nil, err
	}
	return meshgen.CreateNodeJoinToken201JSONResponse{ID: t.ID, Secret: t.Secret, CAPin: t.CAPin, Server: t.Server, ExpiresAt: t.ExpiresAt}, nil
}

func (p peers) FindNode(ctx context.Context, r meshgen.FindNodeRequestObject) (meshgen.FindNodeResponseObject, error) {
	n, err := p.app.NodeByName(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	return meshgen.FindNode200JSONResponse{ID: n.ID, Name: n.Name, State: meshgen.FoundNodeState(n.State), Simulated: n.Facts.Simulated}, nil
}
