package carve

import "time"

const (
	brakeWindow  = 10 * time.Minute
	brakePercent = 10
)

// mayStop lets a stop through or holds it. Stops that somebody asked for always pass, but for the first poll under a new
// incarnation, which may be a restored backup that knows too little. Inferred ones pass at a rate: at most one, or a tenth
// of the members, in ten minutes. The caller holds apply.
func (e *Engine) mayStop(c Cause) bool {
	if e.braked != "" {
		return false
	}
	if !c.inferred() {
		return true
	}
	now := e.Boot()
	var recent []time.Duration
	for _, at := range e.Book.Brake() {
		if now-at < brakeWindow {
			recent = append(recent, at)
		}
	}
	live := len(recent) // those that were let through counted as live then
	for _, m := range e.Book.All() {
		if _, stopping := e.stopAsked(m.ID); m.Phase.live() && !stopping {
			live++
		}
	}
	if len(recent) >= max(1, live*brakePercent/100) {
		return false
	}
	if err := e.Book.SetBrake(append(recent, now)); err != nil {
		e.Log.Error("brake not recorded", "error", err)
		return false
	}
	return true
}
