package place

// summarize brings a node's summary in line with its cards.
func (p *Pool) summarize(n *node) {
	n.shapes, n.freeWhole, n.share = n.shapes[:0], 0, 0
	for _, c := range n.cards {
		p.enter(c)
		n.share += c.shape.share
		if c.shape.wholeFree() {
			n.freeWhole++
		}
		n.count(c.shape)
	}
}

func (n *node) count(s *shape) {
	for i := range n.shapes {
		if n.shapes[i].shape == s {
			n.shapes[i].n++
			return
		}
	}
	n.shapes = append(n.shapes, shapeCount{s, 1})
}

// enter gives the card the shape of its present state.
func (p *Pool) enter(c *card) {
	k := shapeKey{model: c.model.id, flags: c.flags()}
	for _, s := range c.seats {
		if s.Kind == KindWhole {
			k.flags |= held
		} else {
			k.occ |= maskOf(s.Placement)
		}
	}
	if c.shape != nil && c.shape.shapeKey == k {
		return
	}
	p.leave(c.shape)
	s, ok := p.shapes[k]
	if !ok {
		s = newShape(c.model, k)
		p.shapes[k] = s
	}
	s.refs++
	c.shape = s
}

func (p *Pool) leave(s *shape) {
	if s == nil {
		return
	}
	if s.refs--; s.refs == 0 {
		delete(p.shapes, s.shapeKey)
	}
}

func (c *card) flags() flags {
	var f flags
	set := func(on bool, bit flags) {
		if on {
			f |= bit
		}
	}
	whole, cut, couldW, couldC := c.modes()
	set(whole, canWhole)
	set(cut, canCut)
	set(couldW, couldWhole)
	set(couldC, couldCut)
	set(!c.Sellable, unhealthy)
	set(c.overcut(), shrunk)
	set(c.Missing || !c.listed, missing)
	set(f&(unhealthy|shrunk|missing) == 0, sells)
	return f
}

// overcut reports whether a seat is not legal in what the card reports now.
func (c *card) overcut() bool {
	for _, s := range c.seats {
		if s.Kind == KindMIG && !c.model.geometry.Legal(s.Profile, s.Placement) {
			return true
		}
	}
	return false
}
