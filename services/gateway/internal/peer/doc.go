// Package peer owns the gateway's calls to services: generated clients that carry the
// caller's internal token when there is a caller, and nothing when the gateway asks for
// itself.
package peer
