package domain

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// jsonNumber is a JSON number without a sign: negative quantities make no sense here.
var jsonNumber = regexp.MustCompile(`^(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,4}))?$`)

// ParseDecimal reads the text of a JSON number as an integer of 10^-places, exactly: it
// never goes through a float, and refuses digits that would be lost.
func ParseDecimal(text string, places int) (int64, error) {
	m := jsonNumber.FindStringSubmatch(text)
	if m == nil || len(text) > 64 {
		return 0, errors.New("must be a plain number that is not negative")
	}
	exponent := 0
	if m[3] != "" {
		exponent, _ = strconv.Atoi(m[3]) // at most four digits by the pattern
	}
	digits := strings.TrimLeft(m[1]+m[2], "0")
	if digits == "" {
		return 0, nil
	}
	scale := places + exponent - len(m[2])
	if scale < 0 {
		cut := max(len(digits)+scale, 0)
		if strings.Trim(digits[cut:], "0") != "" || len(digits)+scale < 0 {
			return 0, fmt.Errorf("must have at most %d decimals", places)
		}
		digits, scale = digits[:cut], 0
	}
	if len(digits)+scale > 18 {
		return 0, errors.New("is too large")
	}
	return strconv.ParseInt(digits+strings.Repeat("0", scale), 10, 64)
}

// FormatDecimal writes v × 10^-places as a JSON number without trailing zeros; v ≥ 0.
func FormatDecimal(v int64, places int) string {
	s := strconv.FormatInt(v, 10)
	if len(s) <= places {
		s = strings.Repeat("0", places-len(s)+1) + s
	}
	whole, frac := s[:len(s)-places], strings.TrimRight(s[len(s)-places:], "0")
	if frac == "" {
		return whole
	}
	return whole + "." + frac
}
