// Package carve owns the members of one node: what was accepted, how far each one's two-phase act has come, and how it is
// undone. Every step is in the journal before it is taken, every act may be repeated, and a restart goes on from the record
// with the card as the judge.
//
// It does not own the wire (the agent translates), the cards (driver), the processes (runtime) or the decision who gets what
// (the allocator). It does refuse what would put two owners on a span.
//
// Invariants:
//   - A phase is written, then acted on: reserved → mode → gi → ci → verify → start → running → end → unci → ungi → released.
//   - Absence from desired means nothing; only an explicit stop ends a member, and a member that ended never starts again.
//   - Nothing on a card is destroyed but what this journal says we cut, found again by its placement and profile.
//   - Acts on one card are serial, on different cards parallel.
//   - released = true is written after the slice was destroyed, never before.
package carve
