// Package place owns the placement engine: which node, card and span a request gets, and why not.
//
// It is pure. It sees no context, clock, randomness, log or I/O, so any decision replays from a Snapshot. It owns neither
// limits nor queues nor the database: the admission writer asks Plan, commits what it says, and keeps the Pool equal to what
// was committed.
//
// Invariants:
//   - A slice is placed only at a start its own card reported as legal; the built-in board table is never consulted.
//   - A card is held whole or cut, never both; spans never overlap; a node's vCPU and RAM are never planned beyond what it
//     reported.
//   - What was seated stays seated until it is freed: a node or card that comes back smaller, or not at all, keeps its seats
//     and sells nothing until what is used fits what is reported.
//   - Equal pools and requests give equal decisions; every tie ends at an id.
//   - Nothing here is safe for concurrent use. Plan, Available, Snapshot and Check change nothing.
package place
