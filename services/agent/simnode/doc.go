// Package simnode owns whole simulated nodes: the real agent core on simulated cards, with a power switch and a cable. weir
// up and weir serve --target=sim host them, and weir-agent --driver sim is one.
//
// It owns the faults of a node: its network cut one way or both, its containers deaf to kill, its power cut. Faults of
// cards are passed to simgpu. Faults reach the node directly, never over the agent's link.
//
// Invariants: a kill -9 of the host keeps the boot and what runs; a farewell or a reboot fault ends every process and starts
// a new boot.
package simnode
