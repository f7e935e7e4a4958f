// Package api owns metering's two doors: the public one behind the gateway and the one
// between services.
package api
