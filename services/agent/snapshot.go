package agent

import (
	"time"

	"github.com/weirhq/weir/services/agent/internal/link"
)

const silentAfter = 40 * time.Second // as the control plane counts it

// Snapshot is how an agent does.
type Snapshot struct {
	Connected bool // the control plane answered within the last 40 s
	TunnelUp  bool
	Members   map[string]int // by reported state
	Counters  map[string]int64
}

// Snapshot says how the agent does.
func (a *Agent) Snapshot() Snapshot {
	last := time.Duration(a.lastAnswer.Load())
	s := Snapshot{Connected: last > 0 && a.cfg.BootClock()-last < silentAfter, TunnelUp: a.tunnelUp.Load(),
		Members: map[string]int{}, Counters: a.engine.Counters()}
	for _, o := range a.engine.Observe() {
		s.Members[string(o.Reported)]++
	}
	return s
}

// HasIdentity reports whether the state directory holds an identity, be it one that ran out.
func HasIdentity(stateDir string) bool {
	_, err := link.Load(stateDir)
	return err == nil
}
