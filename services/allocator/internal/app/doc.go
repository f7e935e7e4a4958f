// Package app owns the use cases of the allocator, and the admission writer at their heart:
// one goroutine that holds the pool in memory, takes whatever queued while the last commit
// ran, plans it, and writes one transaction (docs/adr/0004).
//
// Everything that changes what the writer believes passes through its queue: requests,
// agents' reports, facts of peers, and the tick that notices silence and deadlines. So
// memory is never behind what was decided, and a batch that cannot be written is planned
// anew from what the database holds.
package app
