package place

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

// Pool is the admission writer's memory: facts of nodes, and who sits where.
type Pool struct {
	order   []*node // by id
	nodes   map[string]*node
	cards   map[string]*card
	seats   map[string]SeatRow
	members map[string]*member
	models  []*model // never shrinks: an engine meets few of them
	shapes  map[shapeKey]*shape

	held  bool // a statement is open: what stays only for its seats must survive their release, for Rollback
	stale []*node
}

type node struct {
	Node   // Cards unused: see cards
	listed bool
	used   Resources
	cards  []*card // by id
	seated int     // members and seats that keep a node known

	// What Plan asks, kept by summarize.
	shapes    []shapeCount // in the order of their first card
	freeWhole int          // cards that could be sold whole now
	share     int64        // thousandths of cards that are free
}

type shapeCount struct {
	shape *shape
	n     int
}

type card struct {
	Card
	listed bool
	node   *node
	model  *model
	shape  *shape
	seats  []SeatRow
}

// NewPool is an empty pool.
func NewPool() *Pool {
	return &Pool{nodes: map[string]*node{}, cards: map[string]*card{}, seats: map[string]SeatRow{},
		members: map[string]*member{}, shapes: map[shapeKey]*shape{}}
}

// PutNode adds a node or replaces what is known of it. Seats stay: a card that is no longer reported stays while something is
// seated on it, and a card now reported by another node takes its seats along, so that neither is ever sold twice. What is
// used beyond the report counts as shrunk, so when filling a pool put members and seats first, or use Load.
func (p *Pool) PutNode(facts Node) {
	n := p.node(facts.ID)
	kept := map[string]bool{}
	for _, c := range facts.Cards {
		kept[c.ID] = true
		p.putCard(n, c)
	}
	for _, c := range slices.Clone(n.cards) {
		if kept[c.ID] {
			continue
		}
		if len(c.seats) == 0 {
			p.dropCard(c)
		} else if c.listed {
			c.Missing = true
		}
	}
	broken := n.listed && !n.Shrunk && !n.Resources.covers(n.used) // used beyond a report that did not change is a fault
	facts.Cards, facts.Shrunk = nil, !facts.Resources.covers(n.used) && !broken
	n.Node, n.listed = facts, true
	p.summarize(n)
}

// RemoveNode forgets a node. While something is seated on it, it stays and sells nothing.
func (p *Pool) RemoveNode(id string) {
	n, ok := p.nodes[id]
	if !ok {
		return
	}
	n.Missing = true
	p.leftover(n)
}

func (p *Pool) node(id string) *node {
	n, ok := p.nodes[id]
	if !ok {
		n = &node{Node: Node{ID: id}}
		p.nodes[id] = n
		p.order = insertByID(p.order, n, func(n *node) string { return n.ID })
	}
	return n
}

func (p *Pool) card(n *node, id string) *card {
	c, ok := p.cards[id]
	if !ok {
		c = &card{Card: Card{ID: id}, model: p.model("", mig.Geometry{})}
		p.cards[id] = c
	}
	if c.node != n {
		if old := c.node; old != nil {
			old.cards = slices.DeleteFunc(old.cards, func(o *card) bool { return o == c })
			old.seated -= len(c.seats)
			p.summarize(old)
			p.forget(old)
		}
		c.node = n
		n.seated += len(c.seats)
		n.cards = insertByID(n.cards, c, func(c *card) string { return c.ID })
	}
	return c
}

func (p *Pool) putCard(n *node, facts Card) {
	c := p.card(n, facts.ID)
	broken := c.listed && !c.Shrunk && c.overcut()
	if c.model.name != facts.Model || !sameGeometry(c.model.geometry, facts.Geometry) {
		c.model = p.model(facts.Model, facts.Geometry)
	}
	facts.Shrunk = c.overcut() && !broken
	c.Card, c.listed = facts, true
	c.Geometry = c.model.geometry // the pool's own copy, shared by all cards alike
}

func (p *Pool) dropCard(c *card) {
	c.node.cards = slices.DeleteFunc(c.node.cards, func(o *card) bool { return o == c })
	p.leave(c.shape)
	delete(p.cards, c.ID)
}

// forget drops a node nobody lists and nobody sits on.
func (p *Pool) forget(n *node) {
	if n.listed || n.seated > 0 {
		return
	}
	for _, c := range slices.Clone(n.cards) {
		p.dropCard(c)
	}
	delete(p.nodes, n.ID)
	p.order = slices.DeleteFunc(p.order, func(o *node) bool { return o == n })
}

func (p *Pool) model(name string, g mig.Geometry) *model {
	for _, m := range p.models {
		if m.name == name && sameGeometry(m.geometry, g) {
			return m
		}
	}
	own := mig.Geometry{Units: g.Units, Profiles: slices.Clone(g.Profiles)}
	for i := range own.Profiles {
		own.Profiles[i].Starts = slices.Clone(own.Profiles[i].Starts)
	}
	m := newModel(len(p.models), name, own)
	p.models = append(p.models, m)
	return m
}

func sameGeometry(a, b mig.Geometry) bool {
	return a.Units == b.Units && slices.EqualFunc(a.Profiles, b.Profiles, func(x, y mig.Profile) bool {
		return x.Name == y.Name && x.ID == y.ID && x.CIProfileID == y.CIProfileID && x.MemoryMiB == y.MemoryMiB && x.SMs == y.SMs &&
			x.ComputeSlices == y.ComputeSlices && x.Size == y.Size && x.Max == y.Max && x.Media == y.Media && x.Graphics == y.Graphics &&
			slices.Equal(x.Starts, y.Starts)
	})
}

func insertByID[T any](list []T, v T, id func(T) string) []T {
	i, _ := slices.BinarySearchFunc(list, id(v), func(o T, want string) int { return cmp.Compare(id(o), want) })
	return slices.Insert(list, i, v)
}
