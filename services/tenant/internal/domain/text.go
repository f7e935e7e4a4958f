package domain

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// CleanText trims s and refuses what a one-line name may not hold: control characters
// (PostgreSQL cannot store NUL), direction overrides that make one name look like
// another, and broken UTF-8.
func CleanText(field, s string, maxRunes int) (string, error) {
	s = strings.TrimSpace(s)
	switch n := utf8.RuneCountInString(s); {
	case !utf8.ValidString(s):
		return "", fault.InvalidField(field, "must be valid UTF-8")
	case n == 0:
		return "", fault.InvalidField(field, "must not be empty")
	case n > maxRunes:
		return "", fault.InvalidField(field, "is too long")
	}
	for _, r := range s {
		joiner := r == '\u200c' || r == '\u200d' // part of ordinary words in some scripts
		if (unicode.Is(unicode.C, r) && !joiner) || r == '\u2028' || r == '\u2029' {
			return "", fault.InvalidField(field, "must not contain control or invisible formatting characters")
		}
	}
	return s, nil
}
