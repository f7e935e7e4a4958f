// Package limit owns how often one caller may ask. The door speaks to a port, so that a
// shared counter can stand where the in-process buckets do.
package limit

import (
	"context"
	"time"
)

// Class is a kind of use with a budget of its own.
type Class string

// The classes.
const (
	API  Class = "api"  // everything with a credential, per credential
	Auth Class = "auth" // signing in and up, and credentials that turn out wrong, per address
)

// Decision is the answer to one request.
type Decision struct {
	OK        bool
	Limit     int           // requests per second
	Remaining int           // that would pass right now
	Reset     time.Duration // until the next passes, or until the budget is whole again
}

// Limiter counts requests. An unlimited class answers OK with Limit 0.
type Limiter interface {
	// Take counts one request of key.
	Take(ctx context.Context, class Class, key string) Decision
	// Peek says what Take would, and counts nothing.
	Peek(ctx context.Context, class Class, key string) Decision
}
