package carve

import (
	"fmt"
	"regexp"
	"slices"
)

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ValidID reports whether a member id is one: ids are file names here.
func ValidID(id string) bool { return idPattern.MatchString(id) }

// maxSeats is how many cards one member can hold.
const maxSeats = 64

// Apply takes a desired state. It reports false for one that is older than what was applied, which is refused.
func (e *Engine) Apply(d Desired) bool {
	e.apply.Lock()
	defer e.apply.Unlock()
	incarnation, generation := e.Book.Desired()
	if d.Incarnation == incarnation && d.Generation < generation {
		e.count("stale_commands")
		e.Log.Warn("older desired state refused", "generation", d.Generation, "applied", generation)
		return false
	}
	if d.Incarnation != incarnation {
		e.braked = d.Incarnation
		e.Log.Info("new incarnation of the control plane: stops wait until it has our full report", "incarnation", d.Incarnation)
	}
	if d.Incarnation != incarnation || d.Generation != generation {
		if err := e.Book.SetDesired(d.Incarnation, d.Generation); err != nil {
			e.Log.Error("desired state not taken", "error", err)
			return false
		}
	}
	e.latest = &d
	e.take(d)
	return true
}

// reapply looks again at what the brake or a full disk held back.
func (e *Engine) reapply() {
	e.apply.Lock()
	defer e.apply.Unlock()
	if e.latest != nil {
		e.take(*e.latest)
	}
}

// FullReportAnswered lets the stops of an incarnation through: it knows now what really runs here.
func (e *Engine) FullReportAnswered(incarnation string) {
	e.apply.Lock()
	defer e.apply.Unlock()
	if e.braked == "" || e.braked != incarnation {
		return
	}
	e.braked = ""
	if e.latest != nil {
		e.take(*e.latest)
	}
}

// Braked is the incarnation that waits for a full report, or "".
func (e *Engine) Braked() string {
	e.apply.Lock()
	defer e.apply.Unlock()
	return e.braked
}

// take goes through a desired state. Members it does not name are left alone. The caller holds apply.
func (e *Engine) take(d Desired) {
	for _, w := range d.Members {
		if !ValidID(w.Member) {
			e.count("malformed_members")
			continue
		}
		m, known := e.Book.Get(w.Member)
		switch {
		case w.Stop:
			e.takeStop(w, m, known)
		case known && m.Phase.preparing():
			e.want(w)
		case known: // it runs, or ended and is never started again
		case e.Book.Ended(w.Member):
			e.count("ended_runs_refused") // its end was acknowledged, and still it is wanted
		default:
			e.accept(w)
		}
	}
}

// want remembers what to run, until it runs.
func (e *Engine) want(w Want) {
	e.mu.Lock()
	_, had := e.wants[w.Member]
	e.wants[w.Member] = w
	e.mu.Unlock()
	if !had {
		e.kick(w.Member)
	}
}

func (e *Engine) takeStop(w Want, m Member, known bool) {
	if known && !m.Phase.live() || !known && e.Book.Ended(w.Member) {
		return
	}
	if _, already := e.stopAsked(w.Member); already {
		return
	}
	if !e.mayStop(w.Cause) {
		e.hold(w)
		return
	}
	e.mu.Lock()
	delete(e.held, w.Member)
	e.mu.Unlock()
	if !known {
		// Never heard of: it holds nothing here, and must not start should a late run for it arrive.
		e.refuse(w, Final{StateUnknown, "never_seen", "This node never had the member."})
		return
	}
	e.mu.Lock()
	e.stops[w.Member] = w.Cause
	e.mu.Unlock()
	e.kick(w.Member)
}

// hold notes a stop that the brake does not let through yet.
func (e *Engine) hold(w Want) {
	e.mu.Lock()
	held := e.held[w.Member]
	e.held[w.Member] = true
	e.mu.Unlock()
	if !held {
		e.Log.Warn("stop held by the brake", "member", w.Member, "cause", w.Cause)
	}
}

func (e *Engine) stopAsked(id string) (Cause, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, ok := e.stops[id]
	return c, ok
}

// accept reserves a new member's spans, or refuses the member for good.
func (e *Engine) accept(w Want) {
	e.admit.Lock()
	defer e.admit.Unlock()
	seats, f := e.check(w)
	if f == nil && e.LowDisk() {
		f = &failure{"disk_full", "The node's disk is nearly full, so it takes no new work."}
	}
	if f != nil {
		e.Log.Warn("member refused", "member", w.Member, "reason", f.reason, "detail", f.detail)
		e.count("members_refused")
		e.refuse(w, Final{StateFailed, f.reason, f.detail})
		return
	}
	m := Member{ID: w.Member, Instance: w.Instance, Boot: e.bootID(), Seats: seats}
	e.want(w)
	if err := e.enter(&m, PhaseReserved); err != nil {
		e.forgetWant(w.Member)
		e.Log.Error("member not accepted", "member", w.Member, "error", err)
		return // it is in desired still, and is looked at again
	}
	e.kick(w.Member)
}

// refuse records a member that never did anything here.
func (e *Engine) refuse(w Want, f Final) {
	m := Member{ID: w.Member, Instance: w.Instance, Boot: e.bootID(), Seats: w.Seats, Final: &f, EndedAt: e.Boot(), Cleaning: CleanedNothing}
	if err := e.enter(&m, PhaseReleased); err != nil {
		e.Log.Error("refusal not recorded", "member", w.Member, "error", err)
	}
}

// check says whether a member's seats are legal and free here, and completes them.
func (e *Engine) check(w Want) ([]Seat, *failure) {
	if len(w.Seats) == 0 || len(w.Seats) > maxSeats {
		return nil, &failure{"invalid_placement", fmt.Sprintf("A member needs 1 to %d seats.", maxSeats)}
	}
	seats := slices.Clone(w.Seats)
	for i := range seats {
		if f := e.checkSeat(&seats[i]); f != nil {
			return nil, f
		}
		for _, o := range seats[:i] {
			if o.conflicts(seats[i]) {
				return nil, &failure{"invalid_placement", "Two seats of the member overlap."}
			}
		}
	}
	for _, m := range e.Book.All() {
		if m.released() {
			continue
		}
		for _, held := range m.Seats {
			if slices.ContainsFunc(seats, held.conflicts) {
				return nil, &failure{"span_occupied", "Member " + m.ID + " still holds that place on the card."}
			}
		}
	}
	return seats, nil
}

func (e *Engine) checkSeat(s *Seat) *failure {
	card, ok := e.known(s.GPU)
	switch {
	case !ok:
		return &failure{"gpu_not_found", "This node has no card " + s.GPU + "."}
	case card.Lost:
		return &failure{"gpu_lost", fmt.Sprintf("Card %d is lost.", card.Index)}
	case s.Kind == Whole:
		*s = Seat{ID: s.ID, GPU: s.GPU, Kind: Whole, Device: card.UUID, SMs: card.SMs, MemoryMiB: card.MemoryMiB}
		return nil
	case s.Kind == MIG && card.Geometry.Legal(s.Profile, s.placement()):
		*s = Seat{ID: s.ID, GPU: s.GPU, Kind: MIG, Profile: s.Profile, Start: s.Start, Size: s.Size}
		return nil
	}
	return &failure{"invalid_placement", fmt.Sprintf("Card %d cannot hold %s at %d:%d.", card.Index, s.Profile, s.Start, s.Size)}
}

func (e *Engine) bootID() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.boot
}
