// Package money owns exact amounts: integers of micro-units (millionths of the major
// unit) and the integer product ms × micro-price-per-hour that the meters sum. Nothing
// here divides except Exact and Round, which an invoice line calls once.
package money

import (
	"fmt"
	"math/big"
	"strings"
)

// Micro is an amount in millionths of a currency's major unit.
type Micro int64

// MsMicro is Σ milliseconds × micro-price per hour: the exact cost before the one
// division by 3,600,000 that turns it into Micro.
type MsMicro struct{ v big.Int }

// MsPerHour is the divisor between MsMicro and Micro.
const MsPerHour = 3_600_000

// Times returns ms × perHour exactly.
func Times(ms int64, perHour Micro) MsMicro {
	var m MsMicro
	m.v.Mul(big.NewInt(ms), big.NewInt(int64(perHour)))
	return m
}

// Add returns a + b.
func (a MsMicro) Add(b MsMicro) MsMicro {
	var m MsMicro
	m.v.Add(&a.v, &b.v)
	return m
}

// Cmp compares a and b as big.Int does.
func (a MsMicro) Cmp(b MsMicro) int { return a.v.Cmp(&b.v) }

// String is the integer in decimal: the form kept in the database and compared in proofs.
func (a MsMicro) String() string { return a.v.String() }

// ParseMsMicro reads the form String writes.
func ParseMsMicro(s string) (MsMicro, error) {
	var m MsMicro
	if _, ok := m.v.SetString(s, 10); !ok || m.String() != s {
		return MsMicro{}, fmt.Errorf("money: %q is not an integer", s)
	}
	return m, nil
}

// Micro returns the cost rounded half-even to a millionth, for display.
func (a MsMicro) Micro() Micro { return Micro(divHalfEven(&a.v, big.NewInt(MsPerHour)).Int64()) }

// Exact returns the cost with 12 decimals, half-even on the thirteenth.
func (a MsMicro) Exact() string {
	n := new(big.Int).Mul(&a.v, big.NewInt(1_000_000))
	return decimal(divHalfEven(n, big.NewInt(MsPerHour)), 12)
}

// Parse reads a decimal string with at most six decimals, such as "12.34".
func Parse(s string) (Micro, error) {
	t, neg := strings.CutPrefix(s, "-")
	whole, frac, dot := strings.Cut(t, ".")
	if whole == "" || len(whole) > 12 || len(frac) > 6 || (dot && frac == "") || strings.Trim(whole+frac, "0123456789") != "" {
		return 0, fmt.Errorf("money: %q is not an amount with at most 6 decimals", s)
	}
	var v int64
	for _, c := range whole + frac + strings.Repeat("0", 6-len(frac)) {
		v = v*10 + int64(c-'0')
	}
	if neg {
		v = -v
	}
	return Micro(v), nil
}

// String writes exactly six decimals, the form of the REST contract.
func (m Micro) String() string { return decimal(big.NewInt(int64(m)), 6) }

// divHalfEven returns n/d rounded to the nearest integer, ties to even; d > 0.
func divHalfEven(n, d *big.Int) *big.Int {
	q, r := new(big.Int).DivMod(n, d, new(big.Int)) // Euclidean: 0 ≤ r < d
	switch new(big.Int).Lsh(r, 1).Cmp(d) {
	case 1:
		q.Add(q, big.NewInt(1))
	case 0:
		if q.Bit(0) == 1 {
			q.Add(q, big.NewInt(1))
		}
	}
	return q
}

// decimal writes v / 10^places.
func decimal(v *big.Int, places int) string {
	s := new(big.Int).Abs(v).String()
	if len(s) <= places {
		s = strings.Repeat("0", places-len(s)+1) + s
	}
	s = s[:len(s)-places] + "." + s[len(s)-places:]
	if v.Sign() < 0 {
		s = "-" + s
	}
	return s
}
