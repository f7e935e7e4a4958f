package domain

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"github.com/weirhq/weir/pkg/kernel/actor"
)

// Why a session ended before its time.
const (
	EndLogout        = "logout"
	EndReuse         = "refresh_reuse"
	EndPasswordReset = "password_reset"
)

// Session is one login; its refresh tokens are its family.
type Session struct {
	ID        string
	Account   string
	Org       string // empty for an operator
	CreatedAt time.Time
	ExpiresAt time.Time
}

// LiveSession is a session with what decides whether it still stands for its person.
type LiveSession struct {
	Session
	Ended    bool
	Disabled bool // the account
	Operator bool
	Role     actor.Role // in the session's org now; empty when no longer a member
}

// Usable reports whether the session still speaks for its person at instant now.
func (s LiveSession) Usable(now time.Time) bool {
	return !s.Ended && !s.Disabled && now.Before(s.ExpiresAt) && (s.Org != "" && s.Role.Valid() || s.Org == "" && s.Operator)
}

// RefreshToken is one token of a session's family, as stored.
type RefreshToken struct {
	Hash      [32]byte
	Session   string
	IssuedAt  time.Time
	ExpiresAt time.Time
	UsedAt    *time.Time
}

// refreshPrefix lets secret scanners and people recognise a refresh token.
const refreshPrefix = "wrt_"

// NewRefreshToken returns 256 random bits in the form handed out.
func NewRefreshToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails on a supported system
	return refreshPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// RefreshHash returns the stored form of a refresh token; false when it cannot be one.
func RefreshHash(token string) ([32]byte, bool) {
	if !strings.HasPrefix(token, refreshPrefix) || len(token) != len(refreshPrefix)+43 {
		return [32]byte{}, false
	}
	return sha256.Sum256([]byte(token)), true
}
