package up

import (
	"fmt"
	"os"

	"github.com/weirhq/weir/services/sim"
)

// fleet is the simulated nodes that the flags ask for.
func (c *config) fleet() ([]sim.NodeSpec, error) {
	if c.simFleet == "" {
		nodes, err := sim.ParseNodes(c.simNodes)
		if err != nil {
			return nil, fmt.Errorf("--sim-nodes: %w", err)
		}
		return nodes, nil
	}
	f, err := os.Open(c.simFleet)
	if err != nil {
		return nil, fmt.Errorf("--sim-fleet %s cannot be read: %w", c.simFleet, rootCause(err))
	}
	defer f.Close()
	nodes, err := sim.ParseFleet(f)
	if err != nil {
		return nil, fmt.Errorf("--sim-fleet %s: %w", c.simFleet, err)
	}
	return nodes, nil
}
