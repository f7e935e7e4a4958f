// Package work owns the allocator's background loops: the consumers of peers' feeds, which
// run while this process leads, and the check of invariants.
package work
