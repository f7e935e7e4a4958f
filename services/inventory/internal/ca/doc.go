// Package ca owns the agents' certificate authority: its key, and what it signs. Nothing but
// the key of a request goes into a node's certificate; who the node is, the caller says.
//
//   - The authority is made once, in the process's secrets folder, and lives ten years.
//   - A node's certificate lives 24 hours and names it spiffe://weir/node/<id>.
//   - Keys are Ed25519 or ECDSA P-256; anything else is refused.
package ca
