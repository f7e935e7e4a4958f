package output

import (
	"strconv"
	"strings"
	"time"
)

// None stands for what is not there.
const None = "-"

// Time writes an instant for people, in UTC.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// Moment is Time to the millisecond, for what happens within a second.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000Z") }

// MaybeMoment is Moment, or None.
func MaybeMoment(t *time.Time) string {
	if t == nil {
		return None
	}
	return Moment(*t)
}

// MaybeTime is Time, or None.
func MaybeTime(t *time.Time) string {
	if t == nil {
		return None
	}
	return Time(*t)
}

// Or is the text, or None.
func Or(s *string) string {
	if s == nil || *s == "" {
		return None
	}
	return *s
}

// Amount writes a decimal with at least two decimals and no more than it needs.
func Amount(s string) string {
	whole, frac, _ := strings.Cut(s, ".")
	for len(frac) > 2 && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	for len(frac) < 2 {
		frac += "0"
	}
	return whole + "." + frac
}

// YesNo writes a truth.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// MiB writes a size in mebibytes.
func MiB(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " MiB"
	}
	return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1024, 'f', 1, 64), ".0") + " GiB"
}

// Percent writes a fraction of one.
func Percent(fraction string) string {
	f, err := strconv.ParseFloat(fraction, 64)
	if err != nil {
		return fraction
	}
	return strconv.FormatFloat(100*f, 'f', 0, 64) + "%"
}
