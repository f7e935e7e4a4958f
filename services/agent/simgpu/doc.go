// Package simgpu owns simulated cards: a driver that keeps the state of a node's cards and its boot id in files and
// enforces what real cards enforce, from the geometry table. It is a part of the product: demos, fleets and every test run
// the real agent on it.
//
// Enforced: legal placements and nothing overlapping (ErrNoRoom, ErrInvalid); compute instances only of supported profiles
// and gone before their GPU instance (ErrInUse); nothing destroyed under a process; no slices with MIG mode off and no
// whole-card use with it on; no mode change under a client or a slice; GPU-instance ids by the driver's encoding, hence
// reused; a fresh UUID at every creation; nothing survives a reboot.
//
// It owns faults of cards only. Faults of the node's network, of its containers and of its power are package simnode's.
package simgpu
