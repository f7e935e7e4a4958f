// Package metering owns prices, usage intervals and what they cost. Its only exported door
// is New.
package metering
