package carve

import "time"

// Observed is what there is to report of a member now.
type Observed struct {
	Member
	Reported   State
	Reason     string
	Detail     string
	RunningAge *time.Duration
	EndedAge   *time.Duration
	Released   bool
	Version    uint64 // of the member's last change
}

// Observe lists every member this node knows, by id.
func (e *Engine) Observe() []Observed {
	boot, now := e.bootID(), e.Boot()
	e.mu.Lock()
	versions := make(map[string]uint64, len(e.versions))
	for k, v := range e.versions {
		versions[k] = v
	}
	e.mu.Unlock()
	members := e.Book.All()
	out := make([]Observed, 0, len(members))
	for _, m := range members {
		o := Observed{Member: m, Reported: m.State(), Released: m.released(), Version: versions[m.ID]}
		if m.Final != nil {
			o.Reason, o.Detail = m.Final.Reason, m.Final.Detail
		}
		if m.Cleaning == "" {
			o.Cleaning = CleanedNothing
		}
		if m.Boot == boot && o.Reported != StateGone { // stamps of another boot cannot be compared with now
			o.RunningAge = age(now, m.RunningAt)
			o.EndedAge = age(now, m.EndedAt)
		}
		out = append(out, o)
	}
	return out
}

func age(now, at time.Duration) *time.Duration {
	if at == 0 {
		return nil
	}
	d := max(0, now-at)
	return &d
}

// Preparing reports whether a member is here and has not run yet.
func (e *Engine) Preparing(id string) bool {
	m, ok := e.Book.Get(id)
	return ok && m.Phase.preparing()
}

// Acknowledge forgets members whose end the control plane has recorded. Their ids stay known as ended.
func (e *Engine) Acknowledge(ids []string) error {
	var gone []string
	for _, id := range ids {
		if m, ok := e.Book.Get(id); ok && m.released() {
			gone = append(gone, id)
		}
	}
	if err := e.Book.Forget(gone); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range gone {
		delete(e.versions, id)
		delete(e.stops, id)
		delete(e.wants, id)
	}
	return nil
}
