// Package peer owns how the host of simulated nodes asks the inventory.
package peer

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/weirhq/weir/pkg/api/inventorymeshapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/problem"
	"github.com/weirhq/weir/services/sim/internal/domain"
)

const (
	inventory = "inventory"
	timeout   = 10 * time.Second
)

var errUnreadable = fault.New(fault.Internal, "The inventory's answer could not be read.")

// Inventory implements domain.Inventory on the mesh.
type Inventory struct {
	client *inventorymeshapi.ClientWithResponses
}

// NewInventory returns a client that speaks as m's service.
func NewInventory(m mesh.Mesh) (*Inventory, error) {
	base, client := m.HTTPClient(inventory)
	c, err := inventorymeshapi.NewClientWithResponses(base, inventorymeshapi.WithHTTPClient(client),
		inventorymeshapi.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			httpx.ForwardRequestID(r)
			return nil
		}))
	return &Inventory{c}, err
}

// State implements domain.Inventory.
func (i *Inventory) State(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := i.client.FindNodeWithResponse(ctx, name)
	if err != nil {
		return "", problem.Transport(inventory, err)
	}
	err = problem.Check(resp.StatusCode(), resp.Body, resp.HTTPResponse.Header)
	if errors.Is(err, fault.NotFound) {
		return "", nil
	}
	if err == nil && resp.JSON200 == nil {
		err = errUnreadable
	}
	if err != nil {
		return "", err
	}
	return string(resp.JSON200.State), nil
}

// JoinToken implements domain.Inventory.
func (i *Inventory) JoinToken(ctx context.Context, name string) (domain.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := i.client.CreateNodeJoinTokenWithResponse(ctx, inventorymeshapi.NodeJoinTokenCreate{NodeName: name})
	if err != nil {
		return domain.Token{}, problem.Transport(inventory, err)
	}
	if err := problem.Check(resp.StatusCode(), resp.Body, resp.HTTPResponse.Header); err != nil {
		return domain.Token{}, err
	}
	if resp.JSON201 == nil {
		return domain.Token{}, errUnreadable
	}
	return domain.Token{Secret: resp.JSON201.Secret, CAPin: resp.JSON201.CAPin}, nil
}
