// Package problem owns the error document of the REST contract (RFC 9457): which status,
// title and members a fault has on the wire, and how the other side reads it back so that
// errors.Is works across processes. It is std-only, so clients and the agent use it too.
package problem
