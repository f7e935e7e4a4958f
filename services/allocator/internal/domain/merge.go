package domain

import (
	"slices"
	"time"
)

// Merge takes an accepted report into the members its node holds and into s. known are
// the members that still hold something of the node, or are asked to stop as ghosts.
func Merge(s *Session, known map[string]*Member, orphans []*Orphan, r Report, incarnation string, newID func() string, now time.Time) Merged {
	g := merger{Merged: Merged{NewBoot: r.Boot != s.Boot}, known: known, orphans: orphans, r: r, now: now, newID: newID, touched: map[string]bool{}}
	if g.NewBoot {
		g.newBoot(s)
	}
	s.Seq, s.ProofAt = r.Seq, Ms(now)
	if r.Full && s.Incarnation != incarnation {
		s.Incarnation, g.Fresh = incarnation, true
	}
	for _, id := range sorted(known) {
		if m := known[id]; m.State == Unreachable && m.NeverSeen() { // the node answers, and has yet to begin with it
			g.step(m, m.healed(m.step(Assigned, ReasonNodeAnswer, "", NodeActor(r.Node), now, nil, nil)))
		}
	}
	for _, o := range r.Members {
		g.observe(o)
	}
	if !r.Full { // changes only: the others are as they were told last
		for _, m := range known {
			if m.Boot == r.Boot && m.State != Unreachable {
				m.Proof = later(Ms(now), m.Proof)
			}
		}
	}
	return g.Merged
}

type merger struct {
	Merged
	known   map[string]*Member
	orphans []*Orphan
	r       Report
	now     time.Time
	newID   func() string
	touched map[string]bool
}

// newBoot ends what was acknowledged under another boot, and frees exactly those seats:
// the agent read its cards back empty before it sent this.
func (g *merger) newBoot(s *Session) {
	said := map[string]Observed{}
	for _, o := range g.r.Members {
		said[o.Member] = o
	}
	for _, id := range sorted(g.known) {
		m := g.known[id]
		if m.NeverSeen() || m.Boot == g.r.Boot {
			continue
		}
		o, cleaning := Observed{Member: m.ID, State: SeenGone}, CleanedNothing
		if told, ok := said[m.ID]; ok && told.State == SeenGone && told.Released {
			o.Detail, cleaning = told.Detail, told.Cleaning
		}
		g.step(m, m.Observe(o, g.r.Boot, g.now))
		m.Release(cleaning, FreedByNewBoot, g.now)
		m.Ghost = false
		g.touch(m)
	}
	for _, o := range g.orphans {
		g.freeOrphan(o)
	}
	if s.Boot != "" {
		g.LeftBoot = s.Boot
		if s.Left == nil {
			s.Left = map[string]bool{}
		}
		s.Left[s.Boot] = true
	}
	s.Boot, s.Seq = g.r.Boot, 0
}

func (g *merger) observe(o Observed) {
	m, ok := g.known[o.Member]
	if !ok {
		g.observeUnknown(o)
		return
	}
	before := m.Boot
	g.step(m, m.Observe(o, g.r.Boot, g.now))
	if m.Boot != before {
		g.touch(m)
	}
	switch {
	case o.State.Alive():
		if m.State.Ended() && m.ReleasedAt != nil { // fenced, and here it is
			g.addOrphan(o)
		} else if g.live(m, o.Seats) {
			g.touch(m)
		}
	case m.State.Ended() && o.Released:
		m.Release(o.Cleaning, FreedByAgent, g.now)
		m.Ghost = false
		g.touch(m)
		g.freeOrphansOf(o.Member)
	}
	if m.State.Ended() && m.ReleasedAt != nil && !m.Ghost && !o.State.Alive() {
		g.Acknowledged = append(g.Acknowledged, o.Member)
	}
}

// observeUnknown: a member that holds nothing here. One that is over may be forgotten; one
// that lives was admitted by a database that is lost, and nobody may sell its card.
func (g *merger) observeUnknown(o Observed) {
	switch {
	case o.State.Alive():
		g.addOrphan(o)
	case o.Released || o.State == SeenUnknown || o.State == SeenGone:
		g.freeOrphansOf(o.Member)
		g.Acknowledged = append(g.Acknowledged, o.Member)
	default:
		g.addOrphan(o)
	}
}

func (g *merger) addOrphan(o Observed) {
	seats := o.Seats
	if len(seats) == 0 {
		seats = []ObservedSeat{{Kind: Whole}}
	}
	for _, s := range seats {
		same := func(x *Orphan) bool {
			return x.ReleasedAt == nil && x.Member == o.Member && x.GPUUUID == s.GPUUUID && equalInt(x.Start, s.Start)
		}
		if slices.ContainsFunc(g.orphans, same) || slices.ContainsFunc(g.NewOrphans, same) {
			continue
		}
		g.NewOrphans = append(g.NewOrphans, &Orphan{ID: g.newID(), Node: g.r.Node, GPUUUID: s.GPUUUID, Member: o.Member, Boot: g.r.Boot,
			Kind: s.Kind, Profile: s.Profile, Start: s.Start, Size: s.Size, FoundAt: Ms(g.now)})
	}
}

func (g *merger) freeOrphansOf(member string) {
	for _, o := range g.orphans {
		if o.Member == member {
			g.freeOrphan(o)
		}
	}
}

func (g *merger) freeOrphan(o *Orphan) {
	if o.ReleasedAt == nil {
		at := Ms(g.now)
		o.ReleasedAt = &at
		g.FreedOrphans = append(g.FreedOrphans, o)
	}
}

// live notes what the agent made of the member's seats, and whether that is news.
func (g *merger) live(m *Member, seen []ObservedSeat) (news bool) {
	for _, o := range seen {
		for _, s := range m.Seats {
			if s.ID == o.Seat && o.Live.DeviceUUID != "" && (s.Live == nil || s.Live.DeviceUUID != o.Live.DeviceUUID) {
				l := o.Live
				s.Live, news = &l, true
			}
		}
	}
	return news
}

func (g *merger) step(m *Member, steps []Step) {
	if len(steps) > 0 {
		g.Steps = append(g.Steps, steps...)
		g.touch(m)
	}
}

func (g *merger) touch(m *Member) {
	if !g.touched[m.ID] {
		g.touched[m.ID] = true
		g.Changed = append(g.Changed, m)
	}
}

func sorted(members map[string]*Member) []string {
	ids := make([]string, 0, len(members))
	for id := range members {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func equalInt(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }
