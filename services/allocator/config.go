package allocator

import (
	"errors"
	"time"
)

// Config is the allocator's.
type Config struct {
	// NodeTimeout is how long a node may be silent before its members are unreachable.
	NodeTimeout time.Duration
	// PrepareTimeout is how long a member may take to begin to run.
	PrepareTimeout time.Duration
	// LogLimitMiB is how much of a member's output its node keeps.
	LogLimitMiB int
	// MaxConns is the size of each of the two connection pools.
	MaxConns int
	// Address is where other processes ask the leader.
	Address string
}

// DefaultConfig suits one process.
func DefaultConfig() Config {
	return Config{NodeTimeout: 40 * time.Second, PrepareTimeout: 5 * time.Minute, LogLimitMiB: 64, MaxConns: 12, Address: "local"}
}

// minConns: the writer, its lease, the feeds and readers of desired state each need one.
const minConns = 5

// Validate names everything that is wrong.
func (c Config) Validate() error {
	var errs []error
	if c.NodeTimeout < time.Second {
		errs = append(errs, errors.New("allocator: the node time-out must be at least 1s"))
	}
	if c.PrepareTimeout < time.Second {
		errs = append(errs, errors.New("allocator: the time to prepare must be at least 1s"))
	}
	if c.LogLimitMiB < 1 || c.LogLimitMiB > 65536 {
		errs = append(errs, errors.New("allocator: the log limit must be 1 to 65536 MiB"))
	}
	if c.MaxConns < minConns {
		errs = append(errs, errors.New("allocator: at least 5 connections are needed per pool"))
	}
	return errors.Join(errs...)
}
