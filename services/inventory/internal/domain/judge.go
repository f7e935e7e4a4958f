package domain

import "time"

// Newest (boot, seq) wins. Everything else is ignored and counted, and some of it is proof
// that two machines hold one identity.
//
// The rule: a boot id that another one has superseded is over, because a machine has one
// boot at a time. A message of it with a number already seen is a replay. A message of it
// with a new number may be one that was under way when the machine went down, once; twice,
// somebody goes on living under it: that is a second holder. Two different messages under
// one (boot, seq) are judged alike.

// maxStrikes is how much proof it takes.
const maxStrikes = 2

// Seen is the newest status of a node.
type Seen struct {
	Node    string
	BootID  string
	Seq     int64
	Digest  [32]byte
	Facts   [32]byte
	Strikes int
	At      time.Time
}

// Boot is a boot that was superseded.
type Boot struct {
	BootID  string
	Seq     int64
	Strikes int
}

// Verdict is what a status is.
type Verdict string

// The verdicts.
const (
	News      Verdict = "news"      // of the current boot
	NewBoot   Verdict = "new_boot"  // the first of a boot
	Replay    Verdict = "replay"    // seen before, or older than what was seen
	Suspect   Verdict = "suspect"   // proof of a second holder, not yet enough
	Duplicate Verdict = "duplicate" // two machines hold this identity
)

// Ignored reports whether the status must change nothing.
func (v Verdict) Ignored() bool { return v != News && v != NewBoot }

// Judge decides what st is. seen is nil for a node never heard of; old is the superseded
// boot that st names, or nil. Strikes and the numbers seen of old boots are counted in
// place.
func Judge(st Status, seen *Seen, old *Boot) Verdict {
	switch {
	case seen == nil:
		return NewBoot
	case st.BootID == seen.BootID && st.Seq > seen.Seq:
		return News
	case st.BootID == seen.BootID:
		if st.Seq == seen.Seq && st.Digest() != seen.Digest {
			return strike(&seen.Strikes)
		}
		return Replay
	case old == nil:
		return NewBoot
	case st.Seq > old.Seq:
		old.Seq = st.Seq
		return strike(&old.Strikes)
	}
	return Replay
}

func strike(n *int) Verdict {
	*n++
	if *n >= maxStrikes {
		return Duplicate
	}
	return Suspect
}
