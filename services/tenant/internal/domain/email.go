package domain

import (
	"regexp"
	"strings"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// emailShape is deliberately narrow: ASCII only, so that two addresses that look alike
// are alike, and no quoting or comments.
var emailShape = regexp.MustCompile(`^[a-z0-9!#$%&'*+/=?^_{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_{|}~-]+)*@[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

const maxEmail = 254

// NormalizeEmail returns the one spelling under which an address is stored and compared.
func NormalizeEmail(field, s string) (string, error) {
	s = strings.TrimSpace(s)
	for i := range len(s) {
		if s[i] >= 0x80 { // before lower-casing: 'K' (Kelvin sign) would become an ASCII k
			return "", fault.InvalidField(field, "must be an e-mail address in ASCII")
		}
	}
	s = strings.ToLower(s)
	if len(s) > maxEmail || !emailShape.MatchString(s) {
		return "", fault.InvalidField(field, "must be an e-mail address")
	}
	return s, nil
}
