package domain

import (
	"time"

	"github.com/weirhq/weir/pkg/kernel/actor"
)

// APIKey is a script's credential, bound to one org and to what its owner may do.
type APIKey struct {
	ID         string
	Org        string
	Project    string // empty = every project
	Owner      string
	Name       string
	Role       actor.Role
	Hint       string
	Hash       [32]byte
	Disabled   bool
	Version    int64
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	LastUsedAt *time.Time
}

// LiveKey is a key with what decides whether it still works.
type LiveKey struct {
	APIKey
	OwnerDisabled bool
	OwnerRole     actor.Role // in the key's org now; empty when no longer a member
	OrgStanding   Standing
}

// Usable reports whether the key still stands at instant now; the org's standing is
// another question.
func (k LiveKey) Usable(now time.Time) bool {
	return !k.Disabled && !k.OwnerDisabled && k.OwnerRole.Valid() && (k.ExpiresAt == nil || now.Before(*k.ExpiresAt))
}

// KeyFilter narrows a list of keys.
type KeyFilter struct {
	Owner string // empty = anybody's
	ID    string // empty = any
}
