package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func open(t testing.TB, path string) (*Journal, []string) {
	t.Helper()
	j, records, err := Open(path, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { j.Close() })
	return j, texts(records)
}

func texts(records [][]byte) []string {
	var out []string
	for _, r := range records {
		out = append(out, string(r))
	}
	return out
}

func TestRecordsComeBackInOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	j, none := open(t, path)
	require.Empty(t, none)
	require.NoError(t, j.Append([]byte("one"), []byte("two")))
	require.NoError(t, j.Append([]byte("three")))
	_, got := open(t, path)
	require.Equal(t, []string{"one", "two", "three"}, got)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// A power cut may leave any prefix of the file: every one opens, and holds exactly the records that are whole.
func TestEveryTornTailIsTolerated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	j, _ := open(t, path)
	want := []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}
	var ends []int64
	for _, w := range want {
		require.NoError(t, j.Append([]byte(w)))
		ends = append(ends, j.Size())
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for cut := range len(data) + 1 {
		torn := filepath.Join(dir, fmt.Sprint("torn", cut))
		require.NoError(t, os.WriteFile(torn, data[:cut], 0o600))
		j, got := open(t, torn)
		whole := 0
		for _, e := range ends {
			if int64(cut) >= e {
				whole++
			}
		}
		require.Equal(t, len(got), whole, "cut at %d", cut)
		require.NoError(t, j.Append([]byte("next")))
		_, again := open(t, torn)
		require.Equal(t, append(texts(nil), append(want[:whole:whole], "next")...), again)
	}
}

func TestGarbageAtTheTailIsCutButDamageBeforeItIsNot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	j, _ := open(t, path)
	require.NoError(t, j.Append([]byte("one"), []byte("two"), []byte("three")))
	data, err := os.ReadFile(path)
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(path, append(bytes.Clone(data), "0badc0de oops\n\x00\x00"...), 0o600))
	_, got := open(t, path)
	require.Equal(t, []string{"one", "two", "three"}, got)

	damaged := bytes.Replace(data, []byte("two"), []byte("tvo"), 1)
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	_, _, err = Open(path, Options{})
	require.ErrorIs(t, err, ErrDamaged)

	require.NoError(t, os.WriteFile(path, []byte("weir-journal 9\nwhatever\n"), 0o600))
	_, _, err = Open(path, Options{})
	require.ErrorIs(t, err, ErrDamaged)
}

func TestRewriteKeepsWhatItIsGivenAndGoesOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	j, _ := open(t, path)
	for i := range 100 {
		require.NoError(t, j.Append(fmt.Appendf(nil, "r%d", i)))
	}
	before := j.Size()
	require.NoError(t, j.Rewrite([][]byte{[]byte("r99")}))
	require.Less(t, j.Size(), before)
	require.NoError(t, j.Append([]byte("r100")))
	_, got := open(t, path)
	require.Equal(t, []string{"r99", "r100"}, got)
}

func TestConcurrentAppendsAllArrive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	j, _ := open(t, path)
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := range 20 {
				if err := j.Append(fmt.Appendf(nil, "%d/%d", w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	_, got := open(t, path)
	require.Len(t, got, 320)
	last := map[int]int{}
	for _, r := range got {
		var w, i int
		_, err := fmt.Sscanf(r, "%d/%d", &w, &i)
		require.NoError(t, err)
		require.Equal(t, last[w], i, "writer %d out of order", w)
		last[w]++
	}
}

func TestAFailedWriteLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	j, _ := open(t, path)
	require.NoError(t, j.Append([]byte("one")))
	good := j.file
	readOnly, err := os.Open(path)
	require.NoError(t, err)
	j.file = readOnly // every write and every cut fails now
	require.ErrorIs(t, j.Append([]byte("two")), ErrBroken)
	j.file = good
	require.ErrorIs(t, j.Append([]byte("three")), ErrBroken, "an unknown file is not written to again")
	_, got := open(t, path)
	require.Equal(t, []string{"one"}, got)
}

func TestAnyBytesOpenOrAreCalledDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, fmt.Sprint("any", rapid.Uint64().Draw(t, "n")))
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		if err := os.WriteFile(path, append([]byte(header), body...), 0o600); err != nil {
			t.Fatal(err)
		}
		j, records, err := Open(path, Options{NoSync: true})
		if err == nil {
			j.Close()
			_, again, err := Open(path, Options{NoSync: true})
			if err != nil || len(again) != len(records) {
				t.Fatalf("second open differs: %v", err)
			}
		}
		os.Remove(path)
	})
}
