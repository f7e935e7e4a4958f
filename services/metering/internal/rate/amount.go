package rate

import (
	"math/big"
	"strings"
	"time"

	"github.com/weirhq/weir/pkg/kernel/money"
)

// Charge is a time during which a meter ran, at one price.
type Charge struct {
	Group
	Currency   string
	Start, End time.Time // half-open, whole milliseconds
	Open       bool      // the meter still runs: End is how far it is known to have run
	PerHour    money.Micro
	Cards      int64
	GPUeMicro  int64
}

// Group is what a report may tell apart; a field that is not asked for is empty.
type Group struct{ Project, Offering, Instance string }

// Amount is what charges add up to.
type Amount struct {
	Ms     int64
	CardMs int64
	GPUe   money.MsMicro // milliseconds × millionths of a GPU equivalent
	Cost   money.MsMicro // milliseconds × millionths of the currency per hour
}

// Add returns a + b.
func (a Amount) Add(b Amount) Amount {
	return Amount{a.Ms + b.Ms, a.CardMs + b.CardMs, a.GPUe.Add(b.GPUe), a.Cost.Add(b.Cost)}
}

// Between is the part of c in [from, to).
func (c Charge) Between(from, to time.Time) Amount {
	if c.Start.After(from) {
		from = c.Start
	}
	if c.End.Before(to) {
		to = c.End
	}
	ms := to.Sub(from).Milliseconds()
	if ms <= 0 {
		return Amount{}
	}
	return Amount{ms, ms * c.Cards, money.Times(ms, money.Micro(c.GPUeMicro)), money.Times(ms, c.PerHour)}
}

// Seconds writes milliseconds as seconds with at most three decimals.
func Seconds(ms int64) string { return trim(money.Micro(ms * 1000).String()) }

// GPUeSeconds writes milliseconds × millionths as seconds with at most six decimals, half-even.
func GPUeSeconds(v money.MsMicro) string {
	n, ok := new(big.Int).SetString(v.String(), 10)
	if !ok {
		panic("rate: an integer that is none: " + v.String())
	}
	thousand := big.NewInt(1000)
	q, r := new(big.Int).DivMod(n, thousand, new(big.Int))
	if c := r.Cmp(big.NewInt(500)); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	whole, frac := new(big.Int).DivMod(q, big.NewInt(1_000_000), new(big.Int))
	return trim(whole.String() + money.Micro(frac.Int64()).String()[1:])
}

// trim takes the zeros off the end of a decimal.
func trim(s string) string { return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") }
