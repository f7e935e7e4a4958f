package domain

import (
	"bytes"
	"slices"
)

// Merge takes an accepted status into the node and its cards. It returns all cards of the
// node, those that are new or different, and whether anything changed that readers of the
// node see. have are the cards the node has or takes over.
func Merge(n *Node, have []GPU, st Status, policy Policy, mint func() string) (all, dirty []GPU, changed bool) {
	changed = mergeNode(n, st)
	reported := map[string]bool{}
	for _, c := range st.Cards {
		reported[c.UUID] = true
		i := slices.IndexFunc(have, func(g GPU) bool { return g.UUID == c.UUID })
		if i < 0 {
			all = append(all, newGPU(n.ID, c, policy, mint()))
			dirty = append(dirty, all[len(all)-1])
			continue
		}
		g := have[i]
		if mergeCard(&g, n.ID, c) {
			dirty = append(dirty, g)
		}
		all = append(all, g)
	}
	for _, g := range have {
		if reported[g.UUID] {
			continue
		}
		if g.State != GPULost && g.State != GPURetired {
			g.State = GPULost
			dirty = append(dirty, g)
		}
		all = append(all, g)
	}
	return all, dirty, changed || len(dirty) > 0
}

func mergeNode(n *Node, st Status) bool {
	changed := n.BootID != st.BootID || !bytes.Equal(encode(n.Facts), encode(st.Node))
	n.BootID, n.Facts = st.BootID, st.Node
	if n.State == NodeNotReady && !n.Quarantined {
		n.State, n.Reason = NodeReady, NoReason
		return true
	}
	return changed
}

func newGPU(node string, c Card, policy Policy, id string) GPU {
	if c.Policy != "" {
		policy = c.Policy
	}
	g := GPU{ID: id, UUID: c.UUID, Policy: policy, State: GPUOK}
	mergeCard(&g, node, c)
	return g
}

// mergeCard reports whether the card is different now.
func mergeCard(g *GPU, node string, c Card) bool {
	state := g.State
	switch {
	case state == GPURetired:
	case c.Lost:
		state = GPULost
	case c.Seen.Foreign():
		state = GPUQuarantined
	default:
		state = GPUOK
	}
	facts := c.Facts
	if c.Lost && g.Facts.Board != "" {
		// A card that fell off the bus says little about itself; keep what it was.
		facts = g.Facts
	}
	changed := g.State != state || g.Node != node || !bytes.Equal(encode(g.Facts), encode(facts))
	g.State, g.Node, g.Facts, g.Model = state, node, facts, modelOf(facts.Board)
	return changed
}
