// Package agent owns the agent core: the loops between one node's cards, its members and the control plane. It is free of
// cgo, so that weir up hosts simulated nodes with it; weir-agent wires drivers for real cards.
//
// It always dials out. What runs does not depend on the control plane: without it, members run on, end, and are cleaned up
// after; what happened is reported when somebody answers again.
package agent
