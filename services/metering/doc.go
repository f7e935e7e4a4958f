// Package metering owns what things cost and what was used: price versions, the intervals
// during which meters ran, and reports on them. New is its only door.
package metering
