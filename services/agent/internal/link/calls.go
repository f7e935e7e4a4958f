package link

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/weirhq/weir/pkg/api/agentapi"
)

// Enroll trades a join token for an identity.
func (c *Client) Enroll(ctx context.Context, token, csr, name string) (*agentapi.Enrolled, error) {
	ctx, done := c.within(ctx, joinWithin)
	defer done()
	resp, err := c.api.EnrollNodeWithResponse(ctx, agentapi.EnrollRequest{Token: token, CSRPEM: csr, NodeName: name})
	if err != nil {
		return nil, given(ctx, "join", err)
	}
	if resp.JSON201 == nil {
		return nil, refused("join", resp.StatusCode(), resp.ApplicationProblemJSONDefault)
	}
	return resp.JSON201, nil
}

// Renew asks for a new certificate.
func (c *Client) Renew(ctx context.Context, csr string) (*agentapi.Enrolled, error) {
	ctx, done := c.within(ctx, joinWithin)
	defer done()
	resp, err := c.api.RenewNodeCertificateWithResponse(ctx, agentapi.RenewRequest{CSRPEM: csr})
	if err != nil {
		return nil, given(ctx, "renew certificate", err)
	}
	if resp.JSON200 == nil {
		return nil, refused("renew certificate", resp.StatusCode(), resp.ApplicationProblemJSONDefault)
	}
	return resp.JSON200, nil
}

// Status sends the node's facts.
func (c *Client) Status(ctx context.Context, s agentapi.NodeStatus) (*agentapi.StatusAnswer, error) {
	ctx, done := c.within(ctx, callWithin)
	defer done()
	resp, err := c.api.PutNodeStatusWithResponse(ctx, s)
	if err != nil {
		return nil, given(ctx, "send status", err)
	}
	if resp.JSON200 == nil {
		return nil, refused("send status", resp.StatusCode(), resp.ApplicationProblemJSONDefault)
	}
	return resp.JSON200, nil
}

// Report sends what members do.
func (c *Client) Report(ctx context.Context, r agentapi.Report) (*agentapi.ReportAnswer, error) {
	ctx, done := c.within(ctx, callWithin)
	defer done()
	resp, err := c.api.PutMemberReportsWithResponse(ctx, r)
	if err != nil {
		return nil, given(ctx, "send report", err)
	}
	if resp.JSON200 == nil {
		return nil, refused("send report", resp.StatusCode(), resp.ApplicationProblemJSONDefault)
	}
	return resp.JSON200, nil
}

// Desired polls for something newer; nil means there is nothing.
func (c *Client) Desired(ctx context.Context, incarnation string, generation int64, wait time.Duration) (*agentapi.Desired, error) {
	ctx, done := c.within(ctx, wait+callWithin)
	defer done()
	seconds := int(wait / time.Second)
	params := &agentapi.GetDesiredParams{Wait: &seconds}
	if incarnation != "" {
		params.Incarnation, params.Generation = &incarnation, &generation
	}
	resp, err := c.api.GetDesiredWithResponse(ctx, params)
	switch {
	case err != nil:
		return nil, given(ctx, "ask for desired state", err)
	case resp.StatusCode() == http.StatusNoContent:
		return nil, nil
	case resp.JSON200 == nil:
		return nil, refused("ask for desired state", resp.StatusCode(), resp.ApplicationProblemJSONDefault)
	}
	return resp.JSON200, nil
}

// GoingDown says farewell.
func (c *Client) GoingDown(ctx context.Context, boot string) error {
	ctx, done := c.within(ctx, callWithin)
	defer done()
	resp, err := c.api.PutGoingDownWithResponse(ctx, agentapi.GoingDown{BootID: boot})
	if err != nil {
		return given(ctx, "say farewell", err)
	}
	if resp.StatusCode() != http.StatusNoContent {
		return refused("say farewell", resp.StatusCode(), resp.ApplicationProblemJSONDefault)
	}
	return nil
}

// Join makes an identity: a key that stays here, a certificate for it, and the CA that was pinned.
func Join(ctx context.Context, o Options, dir, name, token string, p Pin) (Identity, error) {
	c, err := NewPinned(o, p)
	if err != nil {
		return Identity{}, err
	}
	defer c.Close()
	key, err := NewKey(name)
	if err != nil {
		return Identity{}, err
	}
	answer, err := c.Enroll(ctx, token, key.CSR, name)
	if err != nil {
		return Identity{}, err
	}
	if !p.matchesPEM(answer.CAPEM) {
		return Identity{}, errors.New("join: the server answered with another CA than the join line names")
	}
	return Save(dir, key, answer.Node, o.Server, answer.CertificatePEM, answer.CAPEM)
}

// RenewIdentity replaces key and certificate. The CA stays: it is what this node was told to trust.
func (c *Client) RenewIdentity(ctx context.Context, dir string, old Identity) (Identity, error) {
	ca, err := os.ReadFile(filepath.Join(dir, caFile))
	if err != nil {
		return Identity{}, fmt.Errorf("renew certificate: %w", err)
	}
	key, err := NewKey(old.Node)
	if err != nil {
		return Identity{}, err
	}
	answer, err := c.Renew(ctx, key.CSR)
	if err != nil {
		return Identity{}, err
	}
	if answer.Node != old.Node {
		return Identity{}, fmt.Errorf("renew certificate: it is for %s, and this is %s", answer.Node, old.Node)
	}
	return Save(dir, key, old.Node, old.Server, answer.CertificatePEM, string(ca))
}
