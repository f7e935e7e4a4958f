// Package domain owns metering's nouns: price versions, the starter price list, orgs as far
// as metering must know them, and costs.
package domain
