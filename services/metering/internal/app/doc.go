// Package app owns metering's use cases: the usage report, costs so far and the price list.
package app
