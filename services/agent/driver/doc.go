// Package driver owns the port between the agent and whatever drives the cards: the facts of each card, MIG mode, and the
// creation and destruction of GPU instances and compute instances at explicit placements.
//
// It does not decide anything: what to carve and when is the agent's. Implementations report what the hardware says and
// enforce what the hardware enforces; simgpu does so from the geometry table, the NVML driver by asking the real thing.
//
// Calls may take seconds (a real destroy is about one) and must respect the context. Calls for one card are made one at a
// time by the agent; calls for different cards run in parallel.
package driver
