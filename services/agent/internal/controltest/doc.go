// Package controltest owns a small control plane for tests of the agent: the agents' door with its own CA, desired state
// with long polls, everything that was reported, and the gateway's side of the tunnel. It keeps no rule of the allocator but
// one: it acknowledges what was reported as released.
package controltest
