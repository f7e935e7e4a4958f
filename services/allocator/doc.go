// Package allocator is the service that owns offerings, instances, seats and what is used
// of every limit: the only one that decides where something runs.
package allocator
