// Package runtime owns the port between the agent and whatever runs a member's command, and the environment every member
// is given.
//
// It does not own when something runs: the agent starts and stops. A runtime keeps what it started across a restart or a
// kill -9 of the agent within a boot, and nothing across boots. Stamps are on the machine's boot clock, in nanoseconds.
package runtime
