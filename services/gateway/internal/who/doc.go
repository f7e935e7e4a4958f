// Package who owns the two translations at the door: a caller's credential into the
// actor it stands for, as the tenant service says, and an actor into the internal tokens
// that services take. Both are remembered for moments only.
package who
