// Package gateway is the only door to the outside: it finds out who calls, limits how
// often, passes requests on to the service that owns the answer, composes the few pages
// that mix owners, and ends the agents' TLS connections and tunnels.
package gateway
