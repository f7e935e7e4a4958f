// Package domain owns the tenant service's vocabulary: accounts, orgs, memberships,
// sessions, API keys and limits, the rules that hold for them, and the ports through
// which the use cases reach storage and the outside.
package domain
