// Package rate turns charges, which are usage intervals with their pinned prices, into the
// rows of a usage report. It is pure: no clock, no store, nothing but arithmetic.
//
// Amounts are integers (milliseconds, and milliseconds times millionths), so that however
// time is cut into periods, and in whatever order charges come, the rows add up to exactly
// what the uncut charges amount to. Decimals are made at the very end and never summed.
package rate
