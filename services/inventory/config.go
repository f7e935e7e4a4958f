package inventory

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Config is what an operator may set.
type Config struct {
	// AgentURL is the agents' door as machines reach it; it stands in join lines.
	AgentURL string
	// NodeTimeout is how long a node may be silent before it is not ready; 0 means 40 s.
	NodeTimeout time.Duration
	// MaxConns bounds the connections of each of the two roles; 0 means 8.
	MaxConns int
}

const (
	defaultNodeTimeout = 40 * time.Second
	minNodeTimeout     = time.Second
	defaultMaxConns    = 8
)

// Validate says everything that is wrong.
func (c Config) Validate() error {
	var errs []error
	if u, err := url.Parse(c.AgentURL); err != nil || u.Scheme != "https" || u.Host == "" {
		errs = append(errs, fmt.Errorf("the agents' address %q must be an https URL", c.AgentURL))
	}
	if c.NodeTimeout != 0 && c.NodeTimeout < minNodeTimeout {
		errs = append(errs, fmt.Errorf("the node time-out %s must be at least %s", c.NodeTimeout, minNodeTimeout))
	}
	if c.MaxConns < 0 {
		errs = append(errs, errors.New("the number of database connections must not be negative"))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.NodeTimeout == 0 {
		c.NodeTimeout = defaultNodeTimeout
	}
	if c.MaxConns == 0 {
		c.MaxConns = defaultMaxConns
	}
	return c
}
