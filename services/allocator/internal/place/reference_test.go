package place

import "slices"

// feasible is the brute-force reference: how many distinct nodes of a snapshot can take one member of the want. It shares no
// code with the engine: it walks every card and every start, unit by unit.
func feasible(s Snapshot, w Want) int {
	nodes := 0
	for _, n := range s.Nodes {
		cpu, ram := n.CPUMilli, n.MemoryMiB
		for _, m := range s.Members {
			if m.Node == n.ID {
				cpu, ram = cpu-m.CPUMilli, ram-m.MemoryMiB
			}
		}
		if !n.Schedulable || n.Missing || cpu < 0 || ram < 0 || cpu < w.CPUMilli || ram < w.MemoryMiB {
			continue
		}
		cards := 0
		for _, c := range n.Cards {
			if cardTakes(s, c, w) {
				cards++
			}
		}
		if cards >= w.Count {
			nodes++
		}
	}
	return nodes
}

func cardTakes(s Snapshot, c Card, w Want) bool {
	if c.Model != w.Model || !c.Sellable || c.Missing {
		return false
	}
	taken := make([]bool, c.Geometry.Units)
	free := true
	for _, seat := range s.Seats {
		if seat.GPU != c.ID {
			continue
		}
		if seat.Kind == KindWhole {
			return false
		}
		if !legal(c, seat.Profile, seat.Placement.Start, seat.Placement.Size) {
			return false // shrunk
		}
		free = false
		for u := seat.Placement.Start; u < seat.Placement.Start+seat.Placement.Size; u++ {
			taken[u] = true
		}
	}
	if w.Kind == KindWhole {
		return free && c.Policy != PolicyMIG && !(c.ModeFixed && c.MIGMode)
	}
	if c.Policy == PolicyWhole || c.ModeFixed && !c.MIGMode {
		return false
	}
	for start := range c.Geometry.Units {
		for _, p := range c.Geometry.Profiles {
			if p.Name == w.Profile && legal(c, p.Name, start, p.Size) && !slices.Contains(taken[start:start+p.Size], true) {
				return true
			}
		}
	}
	return false
}

func legal(c Card, profile string, start, size int) bool {
	for _, p := range c.Geometry.Profiles {
		if p.Name == profile && p.Size == size && start+size <= c.Geometry.Units && slices.Contains(p.Starts, start) {
			return true
		}
	}
	return false
}
