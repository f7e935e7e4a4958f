// Package mig owns the vocabulary of NVIDIA's Multi-Instance GPU and the geometry of the boards we know: which profiles a
// card can be cut into, and at which starts.
//
// It does not own what a real card reports. Names, memory and placements differ by board, driver and vBIOS, so an agent
// stores what NVML answers and placement uses that; the built-in table serves the simulator, what-ifs and sizing.
//
// Invariants:
//   - Spans are in the card's own placement units: 8 on most boards, 4 on A30, 12 on RTX PRO 6000.
//   - A Spec (GPU, profile, placement) is what was intended. A Live is an identity on the card, and the driver reuses it:
//     never key anything durable by a Live.
//   - 0 in a table field means no public source was found, never "none".
package mig
