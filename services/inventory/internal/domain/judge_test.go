package domain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func seenOf(st Status) *Seen {
	return &Seen{BootID: st.BootID, Seq: st.Seq, Digest: st.Digest(), Facts: st.FactsHash()}
}

func TestNewestBootAndNumberWin(t *testing.T) {
	t.Parallel()
	seen := seenOf(Status{BootID: "b2", Seq: 7})
	for _, c := range []struct {
		name string
		boot string
		seq  int64
		old  *Boot
		want Verdict
	}{
		{"the next one", "b2", 8, nil, News},
		{"a later one", "b2", 80, nil, News},
		{"the same again", "b2", 7, nil, Replay},
		{"an hour old", "b2", 1, nil, Replay},
		{"a new boot, whatever its number", "b3", 1, nil, NewBoot},
		{"an old boot, seen before", "b1", 3, &Boot{BootID: "b1", Seq: 5}, Replay},
		{"the last of an old boot", "b1", 5, &Boot{BootID: "b1", Seq: 5}, Replay},
		{"under way when the machine went down", "b1", 6, &Boot{BootID: "b1", Seq: 5}, Suspect},
		{"an old boot that lives on", "b1", 7, &Boot{BootID: "b1", Seq: 6, Strikes: 1}, Duplicate},
	} {
		require.Equal(t, c.want, Judge(Status{BootID: c.boot, Seq: c.seq}, seen, c.old), c.name)
	}
	require.Equal(t, NewBoot, Judge(Status{BootID: "b1", Seq: 9}, nil, nil))
}

// Ten copies, in any order, are one status and prove nothing.
func TestReplaysProveNothing(t *testing.T) {
	t.Parallel()
	st := Status{BootID: "b", Seq: 4, Node: NodeFacts{Hostname: "h"}}
	seen, old := seenOf(st), &Boot{BootID: "a", Seq: 9}
	for range 10 {
		require.Equal(t, Replay, Judge(st, seen, nil))
		require.Equal(t, Replay, Judge(Status{BootID: "a", Seq: 9}, seen, old))
	}
	require.Zero(t, seen.Strikes)
	require.Zero(t, old.Strikes)
}

// Two machines with one identity and their own boots: found at the second message of the
// one that was superseded, whichever speaks more often.
func TestTwoBootsInterleaved(t *testing.T) {
	t.Parallel()
	seen := seenOf(Status{BootID: "mine", Seq: 10})
	require.Equal(t, NewBoot, Judge(Status{BootID: "clone", Seq: 1}, seen, nil))
	old := &Boot{BootID: seen.BootID, Seq: seen.Seq}
	seen = seenOf(Status{BootID: "clone", Seq: 1})
	require.Equal(t, Suspect, Judge(Status{BootID: "mine", Seq: 11}, seen, old))
	require.Equal(t, News, Judge(Status{BootID: "clone", Seq: 2}, seen, nil))
	require.Equal(t, Duplicate, Judge(Status{BootID: "mine", Seq: 12}, seen, old))
}

// Two machines with one identity and one boot id (a copied state folder): found by what
// differs under one number.
func TestOneNumberTwoMessages(t *testing.T) {
	t.Parallel()
	seen := seenOf(Status{BootID: "b", Seq: 4, Node: NodeFacts{Hostname: "one"}})
	other := Status{BootID: "b", Seq: 4, Node: NodeFacts{Hostname: "other"}}
	require.Equal(t, Suspect, Judge(other, seen, nil))
	require.Equal(t, Duplicate, Judge(other, seen, nil))
}
