package agent

import (
	"context"

	"github.com/weirhq/weir/services/agent/internal/carve"
)

// namedLikeMember guards file names against what comes over the wire.
func namedLikeMember(s string) bool { return carve.ValidID(s) }

// GoingDown tells the control plane that this node is being switched off on purpose: its members end there as stopped by
// the platform. From then on nothing new is started here. The caller ends the members and the boot.
func (a *Agent) GoingDown(ctx context.Context) error {
	a.goingDown.Store(true)
	client, err := a.connected(ctx)
	if err != nil {
		return err
	}
	return client.GoingDown(ctx, a.engine.CurrentBoot())
}
