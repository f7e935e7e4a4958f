package app

import (
	"encoding/json"
	"time"

	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// event is the kind of the ids of transitions.
const event id.Kind = "evt"

// orphan is the kind of the ids of orphans.
const orphanID id.Kind = "orp"

// plan gathers what one batch changes, while it changes the memory. When the batch cannot
// be written the memory is loaded anew.
type plan struct {
	*memory
	w         *Writer
	now, real time.Time // business and real time of the batch
	b         domain.Batch

	newInstance, newMember map[string]bool
	instance, member       map[string]bool
	usageBefore            map[string]domain.Usage
	nodesUsed, desiredNow  map[string]bool
	freed                  map[string]bool
	must                   map[string]bool // sessions that must be written with this batch
}

func (w *Writer) newPlan() *plan {
	p := &plan{memory: w.mem, w: w, now: domain.Ms(w.deps.Business.Now()), real: w.deps.Real.Now(),
		newInstance: map[string]bool{}, newMember: map[string]bool{}, instance: map[string]bool{}, member: map[string]bool{},
		usageBefore: map[string]domain.Usage{}, nodesUsed: map[string]bool{}, desiredNow: map[string]bool{}, freed: map[string]bool{},
		must: map[string]bool{}}
	p.b.At, p.b.No = p.now, w.mem.batch+1
	return p
}

// before is what settle compares with.
type before struct {
	counted, released, ghost bool
	action                   string
	cause                    domain.Cause
}

func stateOf(m *domain.Member) before {
	action, cause := ask(m)
	return before{counted: m.Counted, released: m.ReleasedAt != nil, ghost: m.Ghost, action: action, cause: cause}
}

// ask is what a member's node is asked to do with it.
func ask(m *domain.Member) (action string, cause domain.Cause) {
	switch {
	case m.Ghost:
		return actionStop, domain.ByOperator
	case m.ReleasedAt != nil:
		return "", ""
	case m.Asked():
		return actionStop, m.StopCause
	case m.State.Ended() && m.Reason == domain.ReasonPlatform:
		return actionStop, domain.ByShutdown
	case m.State.Ended():
		return actionStop, domain.ByCompletion
	}
	return actionRun, ""
}

// What nodes are asked to do with members.
const (
	actionRun  = "run"
	actionStop = "stop"
)

// change runs fn on a member and settles what follows from it.
func (p *plan) change(m *domain.Member, fn func() []domain.Step) {
	was, i := stateOf(m), p.instances[m.Instance]
	counted := i.Counted()
	p.settle(m, i, was, counted, fn())
}

// settle makes limits, pool, node and desired state follow a changed member.
func (p *plan) settle(m *domain.Member, i *domain.Instance, was before, instanceCounted bool, steps []domain.Step) {
	p.touch(m)
	i.Derive()
	i.Bury(p.now)
	p.instance[i.ID] = true
	if was.counted && !m.Counted {
		p.use(m.Org, domain.Usage{}, m.Uses())
		if instanceCounted && !i.Counted() {
			p.use(m.Org, domain.Usage{}, domain.Usage{Instances: 1})
		}
	}
	if !was.released && m.ReleasedAt != nil {
		p.pool.FreeMember(m.ID)
		p.used[m.Node] = minus(p.used[m.Node], uses(m))
		p.nodesUsed[m.Node] = true
		p.version++
	}
	if action, cause := ask(m); action != was.action || cause != was.cause {
		p.desiredNow[m.Node] = true
	}
	if m.ReleasedAt != nil && !m.Ghost {
		p.freed[m.ID] = true
	}
	for _, s := range steps {
		p.tell(s)
	}
}

// tell records a step in history and in the feed.
func (p *plan) tell(s domain.Step) {
	m := s.Member
	p.b.Events = append(p.b.Events, domain.Event{ID: id.New(event, p.now), Org: m.Org, Instance: m.Instance, Member: m.ID, At: s.At,
		State: s.State, Reason: s.Reason, Detail: s.Detail, Actor: s.Actor, BillableFrom: s.From, BillableUntil: s.Until})
	p.b.Items = append(p.b.Items, domain.Item{Key: m.ID, Org: m.Org, At: p.now, Data: s.Item()})
}

// add brings a new instance into the memory. Its seats are in the pool already.
func (p *plan) add(i *domain.Instance) {
	p.instances[i.ID], p.newInstance[i.ID] = i, true
	p.use(i.Org, domain.Usage{Instances: 1}, domain.Usage{})
	for _, m := range i.Members {
		p.track(m)
		p.newMember[m.ID] = true
		p.use(m.Org, m.Uses(), domain.Usage{})
		p.used[m.Node] = plus(p.used[m.Node], uses(m))
		p.nodesUsed[m.Node], p.desiredNow[m.Node] = true, true
		p.tell(domain.Step{Member: m, At: p.now, State: domain.Assigned, Actor: i.CreatedBy})
	}
	p.version++
}

func (p *plan) use(org string, more, less domain.Usage) {
	if _, ok := p.usageBefore[org]; !ok {
		p.usageBefore[org] = p.usage[org]
	}
	p.usage[org] = p.usage[org].Plus(more).Minus(less)
}

func (p *plan) touch(m *domain.Member) { p.member[m.ID] = true }

// finish completes the batch. It reports whether there is anything to write.
func (p *plan) finish() bool {
	p.b.Offerings = p.pending
	for node := range p.nodesUsed {
		p.b.Nodes = append(p.b.Nodes, p.nodeUsage(node))
	}
	p.b.Usage = map[string]domain.UsageChange{}
	for org, was := range p.usageBefore {
		if now := p.usage[org]; now != was {
			p.b.Usage[org] = domain.UsageChange{Before: was, After: now}
		}
	}
	for instance := range p.newInstance {
		p.b.NewInstances = append(p.b.NewInstances, p.instances[instance])
	}
	for instance := range p.instance {
		if !p.newInstance[instance] {
			p.b.Instances = append(p.b.Instances, p.instances[instance])
		}
	}
	for member := range p.newMember {
		p.b.NewMembers = append(p.b.NewMembers, p.members[member])
	}
	for member := range p.member {
		if !p.newMember[member] {
			p.b.Members = append(p.b.Members, p.members[member])
		}
	}
	p.b.Desired = map[string]int64{}
	for node := range p.desiredNow {
		p.desired[node]++
		p.b.Desired[node] = p.desired[node]
	}
	if p.empty() {
		return false
	}
	for node := range p.unsaved {
		p.b.Sessions = append(p.b.Sessions, p.sessions[node])
	}
	return true
}

func (p *plan) empty() bool {
	b := &p.b
	return len(b.NewInstances)+len(b.Instances)+len(b.NewMembers)+len(b.Members)+len(b.Usage)+len(b.Nodes)+len(b.Events)+len(b.Items)+
		len(b.Left)+len(b.Desired)+len(b.NewOrphans)+len(b.FreedOrphans)+len(b.Offerings)+len(b.Answers)+len(p.must) == 0
}

// keep cleans the memory after the batch was written.
func (p *plan) keep() {
	p.batch, p.pending = p.b.No, nil
	for _, s := range p.b.Sessions {
		delete(p.unsaved, s.Node)
	}
	for member := range p.freed {
		if m := p.members[member]; m != nil {
			p.forget(m)
		}
	}
	for key, a := range p.answers {
		if p.real.Sub(a.at) > answersKept {
			delete(p.answers, key)
		}
	}
}

// answersKept is how long the writer itself knows the answers to keys. A request looks in
// the database before it queues, and waits no longer than this.
const answersKept = 2 * time.Minute

// answer remembers what a request with a key is answered.
func (p *plan) answer(k domain.RequestKey, status int, body json.RawMessage) {
	a := domain.Answer{Key: k, Status: status, JSON: body}
	p.b.Answers = append(p.b.Answers, a)
	p.answers[k.SameRequest()] = answered{a, p.real}
}
