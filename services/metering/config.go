package metering

import (
	"errors"
	"time"
)

// Config is what a deployment decides about metering. DefaultConfig fills it.
type Config struct {
	// Grace is how long after an instant facts about it may still come: the time-out of
	// nodes and a minute more. Younger rows of reports are provisional.
	Grace time.Duration
	// MaxConns is the size of each of the two database pools.
	MaxConns int
}

// DefaultConfig fits a deployment with default time-outs.
func DefaultConfig() Config { return Config{Grace: 100 * time.Second, MaxConns: 8} }

// Validate says everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	if c.Grace < time.Minute {
		errs = append(errs, errors.New("metering: Grace must be at least a minute: facts about silent nodes come that late"))
	}
	if c.MaxConns < 2 {
		errs = append(errs, errors.New("metering: MaxConns must be at least 2"))
	}
	return errors.Join(errs...)
}
