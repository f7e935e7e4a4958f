package mig

// Placement is a span of a card in that card's placement units.
type Placement struct {
	Start int `json:"start"`
	Size  int `json:"size"`
}

// End is the first unit after the span.
func (p Placement) End() int { return p.Start + p.Size }

// Overlaps reports whether the two spans share a unit.
func (p Placement) Overlaps(q Placement) bool { return p.Start < q.End() && q.Start < p.End() }

// Spec is a slice as intended.
type Spec struct {
	GPU       string    `json:"gpu"`
	Profile   string    `json:"profile"`
	Placement Placement `json:"placement"`
}

// Live is the identity a slice got on its card. The driver reuses all three once the slice is destroyed.
type Live struct {
	UUID string `json:"uuid"`
	GI   int    `json:"gi"`
	CI   int    `json:"ci"`
}

// GIID is the GPU instance id the driver gives to a span. The id encodes the fraction of the card: 0 the full card, 1-2 the
// halves, 3-6 the quarters, 7-14 the eighths. The rule is read from the 8-unit boards' kernel module; 4- and 12-unit boards
// follow it as far as transcripts show. A span that is no such fraction gets an id of its own beyond those.
func GIID(units int, p Placement) int {
	if p.Size > 0 && p.Start%p.Size == 0 {
		for _, parts := range []int{1, 2, 4, 8} {
			if p.Size*parts == units {
				return parts - 1 + p.Start/p.Size
			}
		}
	}
	return 15 + p.Size*(units+1) + p.Start
}
