package carve

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/services/agent/internal/journal"
)

func TestTheBookIsCompactedAndRemembersTheEnded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	open := func() *Book {
		b, err := OpenBook(path, journal.Options{NoSync: true})
		require.NoError(t, err)
		return b
	}
	b := open()
	require.NoError(t, b.SetBoot("b1", true))
	require.NoError(t, b.SetDesired("inc", 7))
	keep := Member{ID: "keep", Phase: PhaseRunning, Boot: "b1", Seats: []Seat{{ID: "s", GPU: "g", Kind: Whole}}}
	require.NoError(t, b.Put(keep))
	for i := range 6000 {
		id := fmt.Sprintf("m%06d", i)
		require.NoError(t, b.Put(Member{ID: id, Phase: PhaseReleased, Boot: "b1"}))
		require.NoError(t, b.Forget([]string{id}))
	}
	require.Less(t, b.log.Size(), int64(compactAbove+1000))
	again := open()
	require.Equal(t, []Member{keep}, again.All())
	require.True(t, again.Ended("m000000"))
	require.True(t, again.Ended("m005999"))
	require.False(t, again.Ended("m006000"))
	inc, gen := again.Desired()
	require.Equal(t, "inc", inc)
	require.EqualValues(t, 7, gen)
	boot, reported := again.Boot()
	require.Equal(t, "b1", boot)
	require.True(t, reported)
}

func TestOldTombstonesBecomeAFloor(t *testing.T) {
	t.Parallel()
	b, err := OpenBook(filepath.Join(t.TempDir(), "journal"), journal.Options{NoSync: true})
	require.NoError(t, err)
	var ids []string
	for i := range tombstoneCap + 1 {
		ids = append(ids, fmt.Sprintf("m%06d", i))
	}
	require.NoError(t, b.Forget(ids))
	require.Less(t, len(b.ended), tombstoneCap)
	require.True(t, b.Ended("m000000"), "below the floor")
	require.True(t, b.Ended(ids[len(ids)-1]))
	require.False(t, b.Ended("m999999"))
	require.NoError(t, b.Put(Member{ID: "m000001x", Phase: PhaseRunning}))
	require.False(t, b.Ended("m000001x"), "a member that lives is not ended")
}
