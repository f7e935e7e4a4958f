// Package meter turns the allocator's facts about members into usage intervals. It is pure:
// it reads no clock, draws nothing and stores nothing.
//
// A Ledger holds what is stored about the members of one batch, takes facts in the feed's
// order and answers with the changes to store. Its invariants hold whatever it is told:
//
//   - the intervals of a member never overlap, are never empty, and at most one is open;
//   - nothing opens after a member's end;
//   - a closed interval never changes: a late fact may shorten or remove only an open one;
//   - a fact that was applied before changes nothing.
//
// A fact that cannot be billed as it was said is refused, and the refusal kept for a person
// to look at: it never stops the feed and never charges twice.
package meter
