package sim

import (
	"errors"
	"fmt"
	"net/url"
)

// Config is what an operator may set.
type Config struct {
	Nodes []NodeSpec
	// StateDir holds a folder for each node: its cards, its agent's journal and identity,
	// and its members. A node comes back with what is there.
	StateDir string
	// Runtime is what runs members: process or null.
	Runtime string
	// AgentURL is the agents' door as the nodes reach it.
	AgentURL string
	// Weak hears what members lack of the whole sandbox on this machine, if anything. Optional.
	Weak func(missing []string)
	// Version is what the agents say they are; "" means dev.
	Version string
}

// Validate says everything that is wrong.
func (c Config) Validate() error {
	errs := []error{checkFleet(c.Nodes)}
	if c.StateDir == "" {
		errs = append(errs, errors.New("simulated nodes need a state directory"))
	}
	if c.Runtime != "process" && c.Runtime != "null" {
		errs = append(errs, fmt.Errorf("the runtime of simulated nodes is process or null, not %q", c.Runtime))
	}
	if u, err := url.Parse(c.AgentURL); err != nil || u.Scheme != "https" || u.Host == "" {
		errs = append(errs, fmt.Errorf("the agents' address %q must be an https URL", c.AgentURL))
	}
	return errors.Join(errs...)
}
