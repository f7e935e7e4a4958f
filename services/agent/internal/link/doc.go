// Package link owns the agent's side of the wire: the node's identity on disk, the TLS towards the agents' door, one call
// per operation with a deadline, and the tunnel.
//
// It does not decide when to call, or what an answer means for members.
//
// Invariants: the private key is made here and never leaves; the first contact trusts only a chain that contains the
// certificate with the pinned hash, later ones only the stored one; every call ends, one way or another.
package link
