package domain

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// MaxTokenLife is how long a join token may be good.
const MaxTokenLife = time.Hour

// JoinToken lets one machine enrol, once.
type JoinToken struct {
	ID        string
	Hash      [sha256.Size]byte // of the secret, which is nowhere
	Pool      string
	NodeName  string // "": any name that no living node has
	CreatedBy string
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    time.Time // zero until then
	UsedBy    string
}

// TokenInput asks for a token.
type TokenInput struct {
	Pool     string
	NodeName string
	Life     time.Duration
}

// Validate refuses a token that would live too long or name nothing.
func (in TokenInput) Validate() error {
	if in.Life <= 0 || in.Life > MaxTokenLife {
		return fault.InvalidField("ttl_seconds", "must be between 1 and 3600")
	}
	if in.NodeName != "" && !ValidNodeName(in.NodeName) {
		return fault.InvalidField("node_name", "must be lower-case letters, digits, dots and dashes, as host names are")
	}
	return nil
}

// NewSecret returns a token's secret, 256 random bits, and what is kept of it.
func NewSecret() (secret string, hash [sha256.Size]byte) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // crypto/rand never fails on a supported system
	}
	secret = "wj_" + base64.RawURLEncoding.EncodeToString(b[:])
	return secret, HashSecret(secret)
}

// HashSecret is what is kept of a secret.
func HashSecret(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// ErrToken is the one answer to every token that cannot be used: unknown, expired, used up.
var ErrToken = fault.New(fault.Forbidden, "This join token is not valid: it may have been used or have expired. Ask for a new one.")

// Check refuses a token at now for a machine called name.
func (t JoinToken) Check(now time.Time, name string) error {
	if !t.UsedAt.IsZero() || !now.Before(t.ExpiresAt) {
		return ErrToken
	}
	if t.NodeName != "" && t.NodeName != name {
		// The caller holds the secret, so this tells nothing to anyone else.
		return fault.New(fault.Forbidden, "This join token is for a node of another name.")
	}
	return nil
}
