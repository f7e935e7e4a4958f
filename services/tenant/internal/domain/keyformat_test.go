package domain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

func TestKeyFormat(t *testing.T) {
	t.Parallel()
	require.Regexp(t, `^weir_d_[0-9A-Za-z]{36}$`, domain.NewSecret(actor.Developer, false).Reveal())
	require.Regexp(t, `^weir_vp_[0-9A-Za-z]{36}$`, domain.NewSecret(actor.Viewer, true).Reveal())
	seen := map[string]bool{}
	for range 2000 {
		s := domain.NewSecret(actor.Owner, false)
		require.False(t, seen[s.Reveal()])
		seen[s.Reveal()] = true
		parsed, ok := domain.ParseSecret(s.Reveal())
		require.True(t, ok)
		require.Equal(t, s.Hash(), parsed.Hash())
	}
}

// The checksum finds every single typo and every swap of neighbours without a query.
func TestTyposAreFoundOffline(t *testing.T) {
	t.Parallel()
	plain := domain.NewSecret(actor.Admin, false).Reveal()
	for i := range len(plain) {
		for _, c := range []byte("0Az_ -\x00") {
			if plain[i] == c {
				continue
			}
			_, ok := domain.ParseSecret(plain[:i] + string(c) + plain[i+1:])
			require.False(t, ok, "position %d", i)
		}
		if i+1 < len(plain) && plain[i] != plain[i+1] {
			_, ok := domain.ParseSecret(plain[:i] + plain[i+1:i+2] + plain[i:i+1] + plain[i+2:])
			require.False(t, ok, "swap at %d", i)
		}
	}
	for _, s := range []string{"", "weir", "weir_", "weir_d_", plain[:len(plain)-1], plain + "0", strings.ToUpper(plain), "weir__" + plain[7:], "weir_x_" + plain[7:], " " + plain} {
		_, ok := domain.ParseSecret(s)
		require.False(t, ok, s)
	}
}

func TestASecretDoesNotPrintItself(t *testing.T) {
	t.Parallel()
	s := domain.NewSecret(actor.Developer, false)
	for _, printed := range []string{fmt.Sprint(s), fmt.Sprintf("%+v", struct{ S fmt.Stringer }{s})} {
		require.NotContains(t, printed, s.Reveal()[10:30])
	}
	require.Equal(t, "weir_d_…"+s.Reveal()[39:], s.Hint())
}

func FuzzParseSecret(f *testing.F) {
	f.Add(domain.NewSecret(actor.Developer, true).Reveal())
	f.Add("weir_d_000000000000000000000000000000000000")
	f.Fuzz(func(t *testing.T, s string) {
		if parsed, ok := domain.ParseSecret(s); ok {
			require.Equal(t, s, parsed.Reveal())
			require.NotPanics(t, func() { _ = parsed.Hint() })
		}
	})
}
