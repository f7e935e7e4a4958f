// Package up owns `weir up`: the whole product in one process on one machine. It checks
// what it needs before it touches anything, starts a private PostgreSQL in its data
// directory (or uses the one it is given), starts every service on an in-memory mesh, and
// simulated GPU nodes that join through the agents' own TLS door as real ones would.
package up
