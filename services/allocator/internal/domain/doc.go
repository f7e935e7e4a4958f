// Package domain owns what the allocator knows and decides without a database: offerings,
// instances, members and seats; limits; and the pure functions that turn an admission, a
// report, a silence or a stop into transitions. It imports the kernel only.
//
// Invariants:
//   - A member's end is final; nothing opens its meter after it.
//   - A meter's intervals never overlap and never begin before the member was assigned.
//   - A seat is freed by the agent's proof, an operator's fence or a new boot, never by silence.
package domain
