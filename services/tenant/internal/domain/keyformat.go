package domain

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"

	"github.com/weirhq/weir/pkg/kernel/actor"
)

// A key reads weir_<scope>_<30 random base-62 characters><6 of checksum>. The scope is
// the role's letter, then p when it is bound to a project: enough to tell keys apart by
// eye, never trusted. The checksum is CRC-32 of all before it: a typo costs no query.
const (
	keyPrefix   = "weir_"
	keyRandom   = 30
	keyChecksum = 6
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Secret is the plaintext of an API key. It prints as its hint, so that it cannot slip
// into a log.
type Secret struct{ plain string }

// Reveal returns the plaintext, for the one answer that shows it.
func (s Secret) Reveal() string { return s.plain }

// Hash is the stored form.
func (s Secret) Hash() [32]byte { return sha256.Sum256([]byte(s.plain)) }

// Hint is what lists show: the start, which says what it is, and the last four.
func (s Secret) Hint() string {
	start := strings.LastIndexByte(s.plain, '_') + 1
	return s.plain[:start] + "…" + s.plain[len(s.plain)-4:]
}

// String returns the hint.
func (s Secret) String() string { return s.Hint() }

// NewSecret mints the plaintext of a key.
func NewSecret(role actor.Role, projectBound bool) Secret {
	scope := string(role)[:1]
	if projectBound {
		scope += "p"
	}
	body := keyPrefix + scope + "_" + randomBase62(keyRandom)
	return Secret{body + checksum(body)}
}

// ParseSecret recognises a well-formed key; false means it cannot be one of ours.
func ParseSecret(s string) (Secret, bool) {
	rest, ok := strings.CutPrefix(s, keyPrefix)
	if !ok {
		return Secret{}, false
	}
	scope, tail, ok := strings.Cut(rest, "_")
	if !ok || len(scope) < 1 || len(scope) > 2 || strings.Trim(scope, "oadbvp") != "" || len(tail) != keyRandom+keyChecksum || !isBase62(tail) {
		return Secret{}, false
	}
	body := s[:len(s)-keyChecksum]
	return Secret{s}, checksum(body) == s[len(body):]
}

// LooksLikeKey reports whether s claims to be an API key rather than a token.
func LooksLikeKey(s string) bool { return strings.HasPrefix(s, keyPrefix) }

func isBase62(s string) bool {
	for i := range len(s) {
		if strings.IndexByte(base62, s[i]) < 0 {
			return false
		}
	}
	return true
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	var out [keyChecksum]byte
	for i := keyChecksum - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}

// RandomPassword returns an initial password of 142 random bits.
func RandomPassword() string { return randomBase62(24) }

func randomBase62(n int) string {
	out := make([]byte, 0, n)
	var buf [64]byte
	for {
		_, _ = rand.Read(buf[:]) // never fails on a supported system
		for _, b := range buf {
			if b >= 248 { // 4 × 62: beyond it some characters would be likelier
				continue
			}
			if out = append(out, base62[b%62]); len(out) == n {
				return string(out)
			}
		}
	}
}
