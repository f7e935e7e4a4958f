package app

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/services/allocator/internal/domain"
	"github.com/weirhq/weir/services/allocator/internal/place"
)

// memory is the database as the writer knows it. Only the writer's goroutine touches it.
type memory struct {
	pool        *place.Pool
	incarnation string
	batch       int64

	instances map[string]*domain.Instance
	members   map[string]*domain.Member
	byNode    map[string]map[string]*domain.Member // members that hold something of a node, and ghosts
	nodes     map[string]domain.Node
	cards     map[string]*domain.GPU // by id
	used      map[string]place.Resources
	sessions  map[string]*domain.Session
	orphans   map[string][]*domain.Orphan // by node, those not released
	desired   map[string]int64

	orgs      map[string]domain.Org
	limits    map[string]domain.Limits
	usage     map[string]domain.Usage
	prices    domain.PriceBook
	latest    map[string]domain.Offering // the last version of everything ever offered
	offerings map[string]domain.Offering // what the pool has now
	catalogue []domain.Offering          // the same, by id
	pending   []domain.Offering          // versions to be written

	answers map[domain.RequestKey]answered // recent ones, by SameRequest

	version   int64           // of what placement sees
	unsaved   map[string]bool // nodes whose session is newer than the database
	sellable  map[string]bool // what placement was told of each node
	available *availability   // of this version
}

type answered struct {
	answer domain.Answer
	at     time.Time
}

func newMemory(img *domain.Image) (*memory, error) {
	m := &memory{pool: place.NewPool(), incarnation: img.Incarnation, batch: img.Batch,
		instances: map[string]*domain.Instance{}, members: map[string]*domain.Member{}, byNode: map[string]map[string]*domain.Member{},
		nodes: map[string]domain.Node{}, cards: map[string]*domain.GPU{}, used: map[string]place.Resources{},
		sessions: map[string]*domain.Session{}, orphans: map[string][]*domain.Orphan{}, desired: img.Desired,
		orgs: map[string]domain.Org{}, limits: map[string]domain.Limits{}, usage: img.Usage, prices: domain.PriceBook{},
		latest: map[string]domain.Offering{}, offerings: map[string]domain.Offering{},
		answers: map[domain.RequestKey]answered{}, unsaved: map[string]bool{}, sellable: map[string]bool{}}
	for _, o := range img.Orgs {
		m.orgs[o.ID] = o
	}
	for _, l := range img.Limits {
		m.limits[l.Org] = l
	}
	for _, p := range img.Prices {
		m.prices.Put(p)
	}
	for _, o := range img.Offerings {
		m.latest[o.ID] = o
	}
	for _, s := range img.Sessions {
		m.sessions[s.Node] = s
	}
	for _, o := range img.Orphans {
		m.orphans[o.Node] = append(m.orphans[o.Node], o)
	}
	// Members and seats before nodes: what is used beyond a node's report then counts as
	// shrunk, not as a fault.
	for _, i := range img.Instances {
		if err := m.addInstance(i); err != nil {
			return nil, err
		}
	}
	for _, n := range img.Nodes {
		m.nodes[n.ID] = n
	}
	return m, nil
}

// addInstance takes in an instance that holds something.
func (m *memory) addInstance(i *domain.Instance) error {
	m.instances[i.ID] = i
	for _, mem := range i.Members {
		if mem.ReleasedAt != nil && !mem.Ghost {
			continue
		}
		m.track(mem)
		if s := m.sessions[mem.Node]; s != nil && s.Boot == mem.Boot {
			mem.Proof = s.ProofAt
		}
		if mem.Proof.Before(mem.AssignedAt) {
			mem.Proof = mem.AssignedAt
		}
		if mem.ReleasedAt != nil {
			continue
		}
		m.pool.PutMember(place.MemberRow{ID: mem.ID, Node: mem.Node, Resources: uses(mem)})
		m.used[mem.Node] = plus(m.used[mem.Node], uses(mem))
		for _, s := range mem.Seats {
			if s.ReleasedAt != nil {
				continue
			}
			if err := m.pool.Seat(placeSeat(mem, s)); err != nil {
				return fmt.Errorf("the database holds two owners of one place: %w", err)
			}
		}
	}
	return nil
}

func (m *memory) track(mem *domain.Member) {
	m.members[mem.ID] = mem
	if m.byNode[mem.Node] == nil {
		m.byNode[mem.Node] = map[string]*domain.Member{}
	}
	m.byNode[mem.Node][mem.ID] = mem
}

// forget drops a member that holds nothing any more, and its instance with the last one.
func (m *memory) forget(mem *domain.Member) {
	delete(m.members, mem.ID)
	delete(m.byNode[mem.Node], mem.ID)
	if len(m.byNode[mem.Node]) == 0 {
		delete(m.byNode, mem.Node)
	}
	i := m.instances[mem.Instance]
	for _, other := range i.Members {
		if m.members[other.ID] != nil {
			return
		}
	}
	delete(m.instances, mem.Instance)
}

// keepProofs takes over what was heard since it was last written, when the state is loaded
// anew by the same leader.
func (m *memory) keepProofs(old *memory) {
	if old == nil {
		return
	}
	for node, was := range old.sessions {
		s := m.sessions[node]
		if s == nil || s.Boot != was.Boot || s.Seq > was.Seq {
			continue
		}
		s.Heard, s.ProofAt, s.Seq = was.Heard, was.ProofAt, was.Seq
		m.unsaved[node] = true
		for id, mem := range m.byNode[node] {
			if before := old.members[id]; before != nil && before.Proof.After(mem.Proof) {
				mem.Proof = before.Proof
			}
		}
	}
}

func uses(m *domain.Member) place.Resources {
	return place.Resources{CPUMilli: m.VCPUsMilli, MemoryMiB: m.RAMMiB}
}

func plus(a, b place.Resources) place.Resources {
	return place.Resources{CPUMilli: a.CPUMilli + b.CPUMilli, MemoryMiB: a.MemoryMiB + b.MemoryMiB}
}

func minus(a, b place.Resources) place.Resources {
	return place.Resources{CPUMilli: a.CPUMilli - b.CPUMilli, MemoryMiB: a.MemoryMiB - b.MemoryMiB}
}
