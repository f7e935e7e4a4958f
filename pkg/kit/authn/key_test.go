package authn_test

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/authn"
)

func TestKeyIsMadeOnceAndKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	keys := make([]ed25519.PrivateKey, 8)
	errs := make([]error, 8)
	for i := range keys {
		wg.Go(func() { keys[i], errs[i] = authn.LoadOrCreateKey(dir, "gateway") })
	}
	wg.Wait()
	for i := range keys {
		require.NoError(t, errs[i])
		require.True(t, keys[0].Equal(keys[i]), "all first callers must get the same key")
	}
	info, err := os.Stat(filepath.Join(dir, "gateway.pem"))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary files stay")
}

func TestKeyRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := authn.LoadOrCreateKey(filepath.Join(dir, "missing"), "k")
	require.Error(t, err)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "junk.pem"), []byte("junk"), 0o600))
	_, err = authn.LoadOrCreateKey(dir, "junk")
	require.ErrorContains(t, err, "not a PEM private key")

	_, err = authn.LoadOrCreateKey(dir, "open")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(filepath.Join(dir, "open.pem"), 0o644))
	_, err = authn.LoadOrCreateKey(dir, "open")
	require.ErrorContains(t, err, "can be read by others")
}
