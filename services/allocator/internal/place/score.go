package place

import "slices"

// score orders the places of a want: the lower one wins, first place first.
type score [7]int64

func (a score) compare(b score) int { return slices.Compare(a[:], b[:]) }

// What breaking into a card costs.
const (
	breaksNothing = iota // partly used already
	breaksCut            // empty, and only ever cut
	breaksWhole          // empty, and could be sold whole
)

// scoreMIG: use cards already cut; lose the least of what the card can still take, largest profile first; fill the fuller
// card; keep whole servers; then the node.
func (n *node) scoreMIG(w Want, s *shape, f fit, size int) score {
	breaks, left := int64(breaksNothing), int64(n.freeWhole)
	if s.occ == 0 {
		if breaks = breaksCut; s.wholeFree() {
			breaks = breaksWhole
			left--
		}
	}
	share := int64(1000 * size / s.model.geometry.Units)
	strand, cpu, ram := n.after(w, share)
	return score{breaks, f.loss, int64(s.free - size), left, strand, cpu, ram}
}

// scoreWhole: leave the fewest free cards behind, which keeps whole servers whole; then cards that could not be cut; then the
// node.
func (n *node) scoreWhole(w Want, cuttable int) score {
	strand, cpu, ram := n.after(w, int64(1000*w.Count))
	return score{int64(n.freeWhole - w.Count), int64(cuttable), strand, cpu, ram}
}

// scoreCPU: stay away from cards; then the node.
func (n *node) scoreCPU(w Want) score {
	strand, cpu, ram := n.after(w, 0)
	return score{strand, int64(n.freeWhole), cpu, ram}
}

// after weighs the node once the member is on it. strand is the part of its cards, in thousandths, that would be left without
// their fair part of vCPU and RAM. What a want strands nowhere goes to the node with the least to spare, so that nodes poor
// in vCPU or RAM serve the small and the rich ones stay free for the large.
func (n *node) after(w Want, share int64) (strand, cpu, ram int64) {
	left := n.Resources.minus(n.used).minus(w.Resources)
	if cards := int64(len(n.cards)); cards > 0 {
		gpu := (n.share - share) / cards
		strand = max(0, gpu-min(thousandths(left.CPUMilli, n.CPUMilli), thousandths(left.MemoryMiB, n.MemoryMiB)))
	}
	return strand, left.CPUMilli, left.MemoryMiB
}

func thousandths(part, total int64) int64 {
	if total <= 0 {
		return 0
	}
	return 1000 * part / total
}
