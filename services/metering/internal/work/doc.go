// Package work owns metering's background: it follows the allocator's instances feed into
// intervals, the tenant service's orgs feed, and publishes the price list.
package work
