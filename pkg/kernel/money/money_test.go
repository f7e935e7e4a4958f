package money

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseAndStringAreInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := Micro(rapid.Int64Range(-999_999_999_999_999_999, 999_999_999_999_999_999).Draw(t, "micro"))
		got, err := Parse(m.String())
		require.NoError(t, err)
		require.Equal(t, m, got)
	})
}

func TestParse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Micro{
		"0": 0, "14": 14_000_000, "12.34": 12_340_000, "-0.000001": -1, "0.5": 500_000,
		"999999999999.999999": 999_999_999_999_999_999, "007.10": 7_100_000,
	} {
		got, err := Parse(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for _, bad := range []string{
		"", "-", ".", "1.", ".5", "+1", "1e3", "1,5", "1.0000001", "1000000000000", "NaN", "Inf", " 1", "1 ", "--1", "1.-5", "0x10", "１",
	} {
		_, err := Parse(bad)
		require.Error(t, err, "%q", bad)
	}
}

func TestParseRefusesGarbageOrReadsItBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("0123456789.-+e "))).Draw(t, "s")
		m, err := Parse(s)
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(s)
		require.True(t, ok, "%q", s)
		require.Zero(t, want.Cmp(big.NewRat(int64(m), 1_000_000)), "%q is not %s", s, m)
	})
}

// The law the meters live by: however a duration is cut into pieces, and in whatever order
// they are added, the sum is the uncut cost.
func TestSplitsSumToTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		price := Micro(rapid.Int64Range(0, math.MaxInt64).Draw(t, "price"))
		pieces := rapid.SliceOfN(rapid.Int64Range(0, 1<<50), 0, 50).Draw(t, "pieces")
		var whole int64
		var sum, backwards MsMicro
		for i, ms := range pieces {
			whole += ms
			sum = sum.Add(Times(ms, price))
			backwards = backwards.Add(Times(pieces[len(pieces)-1-i], price))
		}
		require.Zero(t, sum.Cmp(Times(whole, price)))
		require.Zero(t, sum.Cmp(backwards))
	})
}

func TestAddChangesNeitherOperand(t *testing.T) {
	t.Parallel()
	a, b := Times(3, 5), Times(7, 11)
	_ = a.Add(b)
	require.Equal(t, "15", a.String())
	require.Equal(t, "77", b.String())
	var zero MsMicro
	require.Equal(t, "0", zero.String())
	require.Zero(t, zero.Add(a).Cmp(a))
}

func TestMsMicroReadsBackWhatItWrote(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := Times(rapid.Int64().Draw(t, "ms"), Micro(rapid.Int64().Draw(t, "price")))
		got, err := ParseMsMicro(m.String())
		require.NoError(t, err)
		require.Zero(t, m.Cmp(got))
	})
	for _, bad := range []string{"", "1.5", "abc", "1_000", "0x1", " 1", "+1", "-", "--1"} {
		_, err := ParseMsMicro(bad)
		require.Error(t, err, "%q", bad)
	}
}

// Rounding is to the nearest, ties to even, for both signs.
func TestRounding(t *testing.T) {
	t.Parallel()
	half := int64(MsPerHour / 2)
	for _, c := range []struct {
		ms   int64
		want Micro
	}{
		{0, 0}, {half - 1, 0}, {half, 0}, {half + 1, 1}, {3 * half, 2}, {5 * half, 2}, {5*half + 1, 3},
		{-half, 0}, {-half - 1, -1}, {-3 * half, -2}, {MsPerHour, 1},
	} {
		require.Equal(t, c.want, Times(c.ms, 1).Micro(), "%d ms", c.ms)
	}
	require.Equal(t, "0.000000000000", MsMicro{}.Exact())
	require.Equal(t, "0.003888888889", Times(1000, 14_000_000).Exact())
	require.Equal(t, "14.000000000000", Times(MsPerHour, 14_000_000).Exact())
	require.Equal(t, "-14.000000000000", Times(-MsPerHour, 14_000_000).Exact())
}

func TestRoundingIsNearest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := Times(rapid.Int64Range(0, 1<<40).Draw(t, "ms"), Micro(rapid.Int64Range(0, 1<<30).Draw(t, "price")))
		exact, ok := new(big.Rat).SetString(m.String())
		require.True(t, ok)
		exact.Quo(exact, big.NewRat(MsPerHour, 1))
		off := new(big.Rat).Sub(exact, big.NewRat(int64(m.Micro()), 1))
		require.LessOrEqual(t, off.Abs(off).Cmp(big.NewRat(1, 2)), 0, "further than half a unit")

		shown, ok := new(big.Rat).SetString(m.Exact())
		require.True(t, ok)
		off = shown.Sub(shown, exact.Quo(exact, big.NewRat(1_000_000, 1)))
		require.LessOrEqual(t, off.Abs(off).Cmp(big.NewRat(1, 2_000_000_000_000)), 0)
		require.Len(t, m.Exact()[strings.IndexByte(m.Exact(), '.')+1:], 12)
	})
}

// Display never shows less for more.
func TestMoreTimeCostsNoLess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		price := Micro(rapid.Int64Range(0, 1<<40).Draw(t, "price"))
		a := rapid.Int64Range(0, 1<<40).Draw(t, "a")
		b := rapid.Int64Range(a, 1<<41).Draw(t, "b")
		require.LessOrEqual(t, Times(a, price).Micro(), Times(b, price).Micro())
		require.LessOrEqual(t, Times(a, price).Cmp(Times(b, price)), 0)
	})
}
