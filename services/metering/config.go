package metering

import "errors"

// Config is metering's.
type Config struct {
	MaxConns int // of each of the two database pools
}

// DefaultConfig suits one process.
func DefaultConfig() Config { return Config{MaxConns: 8} }

// Validate names what is wrong.
func (c Config) Validate() error {
	if c.MaxConns < 1 {
		return errors.New("metering: a database pool needs a connection")
	}
	return nil
}
