// Package agents owns the agents' own door: TLS with a certificate of inventory's
// authority, nodes told apart by their client certificates, and what they send passed on
// to the service that owns it with an internal token of the node. The tunnel ends here.
package agents
