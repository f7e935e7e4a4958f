// Package tunnel owns the connections over which nodes can be asked for streams. A node
// dials the agents' door and upgrades; from then on it serves HTTP/2 on that connection
// and the gateway is its client. Each node has one tunnel: the newest.
package tunnel
