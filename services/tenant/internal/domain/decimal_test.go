package domain_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/services/tenant/internal/domain"
)

func TestParseDecimal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "0.0": 0, "0e99": 0, "16": 16_000_000, "0.142857": 142_857, "0.1": 100_000, "1.5e1": 15_000_000, "1E-6": 1, "2.50000000": 2_500_000,
		"0.3": 300_000, "1000000": 1_000_000_000_000, "0.000001": 1, "123456789e-6": 123_456_789, "10e-7": 1, "1000e-9": 1,
	} {
		got, err := domain.ParseDecimal(text, 6)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "-1", "-0", "+1", "01", "1.", ".5", "1e", "NaN", "Infinity", "0x10", "1_000", " 1", "1 ", `"1"`, "null", "true", "0.0000001", "1e-7", "1.0000001",
		"1e13", "1e9999", "1e99999", "9999999999999999999", strings.Repeat("9", 64), "1e-9999", "12345678.1234567",
	} {
		_, err := domain.ParseDecimal(text, 6)
		require.Error(t, err, text)
	}
	got, err := domain.ParseDecimal("5.0", 0)
	require.NoError(t, err)
	require.EqualValues(t, 5, got, "a whole number may be written with a point")
	_, err = domain.ParseDecimal("5.5", 0)
	require.Error(t, err)
}

func TestDecimalsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(0, 999_999_999_999_999_999).Draw(t, "v")
		places := rapid.IntRange(0, 9).Draw(t, "places")
		text := domain.FormatDecimal(v, places)
		got, err := domain.ParseDecimal(text, places)
		require.NoError(t, err)
		require.Equal(t, v, got, text)
	})
}

// Whatever a float can say, the text is read without going through one.
func TestDecimalsAgreeWithStrconv(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		micro := rapid.Int64Range(0, 1_000_000_000_000).Draw(t, "micro")
		for _, format := range []byte{'f', 'e'} {
			text := strconv.FormatFloat(float64(micro)/1e6, format, -1, 64)
			got, err := domain.ParseDecimal(text, 6)
			require.NoError(t, err, text)
			require.Equal(t, micro, got, text)
		}
	})
}

func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{"1", "0.5", "1e5", "-1", "1e9999", "0.0000001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := domain.ParseDecimal(s, 6)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, v, int64(0))
		again, err := domain.ParseDecimal(domain.FormatDecimal(v, 6), 6)
		require.NoError(t, err)
		require.Equal(t, v, again)
	})
}
