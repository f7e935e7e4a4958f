package seal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSealedIsSecretAndBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := Load(dir)
	require.NoError(t, err)
	env := map[string]string{"TOKEN": "hunter2hunter2"}
	sealed, err := b.Seal("ins_1", env)
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "hunter2")

	again, err := Load(dir) // the key is kept
	require.NoError(t, err)
	got, err := again.Open("ins_1", sealed)
	require.NoError(t, err)
	require.Equal(t, env, got)

	_, err = b.Open("ins_2", sealed)
	require.Error(t, err, "an environment moved to another instance must not open")
	for i := range sealed {
		bad := append([]byte(nil), sealed...)
		bad[i] ^= 1
		_, err := b.Open("ins_1", bad)
		require.Error(t, err)
	}
	info, err := os.Stat(filepath.Join(dir, keyFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	none, err := b.Seal("ins_1", nil)
	require.NoError(t, err)
	require.Nil(t, none)
	got, err = b.Open("ins_1", none)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestBrokenKeyIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, keyFile), []byte("short"), 0o600))
	_, err := Load(dir)
	require.Error(t, err)
}
