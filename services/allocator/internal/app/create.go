package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/services/allocator/internal/domain"
	"github.com/weirhq/weir/services/allocator/internal/place"
)

// Encode writes the answer that a repeated request gets.
type Encode func(*domain.Instance) (status int, body []byte, err error)

// errUnknownOrg asks for the feeds to be read before the answer.
var errUnknownOrg = errors.New("the org or its limits are not known yet")

func unknownOrg() error {
	return fault.Wrap(fault.Unavailable, "Your org and its limits are not known here yet. Retry in a moment.", errUnknownOrg)
}

// Create rents. It answers once the place is durable.
func (a *App) Create(ctx context.Context, in domain.CreateInput, key domain.RequestKey, encode Encode) (*domain.Instance, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	instance := id.New(id.Instance, a.deps.Business.Now())
	var err error
	if in.EnvSealed, err = a.deps.Sealer.Seal(instance, in.Env); err != nil {
		return nil, fmt.Errorf("seal the environment: %w", err)
	}
	return a.once(ctx, key, encode, func(p *plan) (*domain.Instance, error) { return p.create(instance, in) })
}

// once runs an operation under an idempotency key: looked up first, remembered in the
// transaction of its effect, and looked up again when another request was faster.
func (a *App) once(ctx context.Context, key domain.RequestKey, encode Encode, fn func(p *plan) (*domain.Instance, error)) (*domain.Instance, error) {
	synced := false
	for range 4 {
		if err := a.deps.Reader.Answered(ctx, key); err != nil {
			return nil, err
		}
		var made *domain.Instance
		err := a.writer.do(ctx, func(p *plan) error {
			made = nil
			if was, ok := p.answers[key.SameRequest()]; ok {
				return was.answer.Repeat(key)
			}
			i, err := fn(p)
			if err != nil {
				return err
			}
			made = clone(i)
			status, body, err := encode(made)
			if err != nil {
				return fmt.Errorf("write the answer: %w", err)
			}
			p.answer(key, status, body)
			return nil
		})
		switch {
		case errors.Is(err, errKeyUsed):
			continue
		case errors.Is(err, errUnknownOrg) && !synced:
			if err := a.deps.Sync(ctx, FeedOrgs, FeedLimits); err != nil {
				return nil, fmt.Errorf("read the limits: %w", err)
			}
			synced = true
			continue
		case errors.Is(err, errUnknownOrg):
			return nil, unknownOrg()
		}
		return made, err
	}
	return nil, fault.New(fault.Conflict, "Requests with this Idempotency-Key race. Retry.")
}

// want is one offering that the request accepts, priced.
type want struct {
	offering domain.Offering
	price    domain.Price
	perHour  money.Micro // of the whole member
	need     domain.Usage
	place    place.Want
}

// create decides a request. A refusal leaves everything as it was.
func (p *plan) create(instance string, in domain.CreateInput) (*domain.Instance, error) {
	org, known := p.orgs[in.Org]
	limits, limited := p.limits[in.Org]
	if !known || !limited {
		return nil, errUnknownOrg
	}
	if err := org.InTrouble(); err != nil {
		return nil, err
	}
	if err := in.ResolveProject(org); err != nil {
		return nil, err
	}
	wants, err := p.price(in, org)
	if err != nil {
		return nil, err
	}
	var within []want
	var excess *domain.Excess
	for _, w := range wants {
		if e := limits.Excess(p.usage[in.Org], w.need); e == nil {
			within = append(within, w)
		} else if excess == nil {
			excess = e
		}
	}
	if len(within) == 0 {
		return nil, domain.QuotaExceeded(*excess, p.alternatives(org, limits, wants))
	}
	req := place.Request{Nodes: 1}
	for _, w := range within {
		req.Offerings = append(req.Offerings, w.place)
	}
	decision, why := p.pool.Plan(req)
	if !decision.OK() {
		return nil, p.noCapacity(org, limits, within, why)
	}
	return p.seat(instance, in, org, within[decision.Want], decision)
}

// price finds what the request names in the catalogue and what it costs now.
func (p *plan) price(in domain.CreateInput, org domain.Org) (wants []want, err error) {
	if in.MaxPerHour != nil && in.MaxCurrency != "" && in.MaxCurrency != org.Currency {
		return nil, fault.InvalidField("max_price_per_hour", "must be in "+org.Currency+", the currency of your org")
	}
	var dearer error
	for i, name := range in.Offerings {
		o, ok := p.offerings[name]
		if !ok {
			return nil, domain.NotOnOffer(in, i, "is not on offer here: the list of offerings names what is")
		}
		if o.Kind != domain.Whole && in.Count > 1 {
			return nil, fault.InvalidField("count", "must be 1 for slices: CUDA sees one MIG device per process")
		}
		v, ok := p.prices.At(name, org.Currency, p.now)
		if !ok {
			return nil, domain.NotOnOffer(in, i, "has no price in "+org.Currency)
		}
		w := want{offering: o, price: v, perHour: v.PerHour * money.Micro(in.Count)}
		if in.MaxPerHour != nil && w.perHour > *in.MaxPerHour {
			dearer = domain.PriceChanged(name, w.perHour, org.Currency, v.VersionID)
			continue
		}
		vcpus, ram := o.VCPUsMilli*int64(in.Count), o.RAMMiB*int64(in.Count)
		if in.VCPUsMilli != nil {
			vcpus = *in.VCPUsMilli
		}
		if in.RAMMiB != nil {
			ram = *in.RAMMiB
		}
		w.need = domain.Usage{GPUeMicro: o.GPUeMicro * int64(in.Count), Instances: 1, VCPUsMilli: vcpus, RAMMiB: ram}
		w.place = placeWant(o, in.Count, vcpus, ram)
		wants = append(wants, w)
	}
	if len(wants) == 0 {
		return nil, dearer
	}
	return wants, nil
}

func placeWant(o domain.Offering, count int, vcpus, ram int64) place.Want {
	w := place.Want{Offering: o.ID, Model: o.Model, Kind: place.KindWhole, Count: count, Resources: place.Resources{CPUMilli: vcpus, MemoryMiB: ram}}
	if o.Kind == domain.MIG {
		w.Kind, w.Profile = place.KindMIG, o.Profile
	}
	return w
}

// seat takes the place that was found.
func (p *plan) seat(instance string, in domain.CreateInput, org domain.Org, w want, d place.Decision) (*domain.Instance, error) {
	i := &domain.Instance{ID: instance, Org: in.Org, Project: in.Project, Name: in.Name, State: domain.Assigned, Offering: w.offering.ID,
		OfferingVersion: w.offering.Version, Kind: w.offering.Kind, Count: in.Count, Nodes: 1, VCPUsMilli: w.need.VCPUsMilli, RAMMiB: w.need.RAMMiB,
		Image: in.Image, Command: in.Command, EnvSealed: in.EnvSealed, Labels: in.Labels, PriceVersion: w.price.VersionID, PerHour: w.perHour,
		Currency: org.Currency, CreatedBy: in.By, CreatedAt: p.now}
	var ids []place.IDs
	for n, at := range d.Members {
		m := &domain.Member{ID: id.New(id.Member, p.now), Org: in.Org, Instance: i.ID, Project: in.Project, Ordinal: n, Node: at.Node,
			NodeName: p.nodes[at.Node].Name, State: domain.Assigned, Offering: i.Offering, OfferingVersion: i.OfferingVersion, Cards: in.Count,
			GPUeMicro: w.need.GPUeMicro, VCPUsMilli: w.need.VCPUsMilli, RAMMiB: w.need.RAMMiB, PriceVersion: i.PriceVersion, PerHour: w.perHour,
			Currency: org.Currency, AssignedAt: p.now, PrepareBy: domain.Ms(p.real.Add(p.w.cfg.PrepareTimeout)), Counted: true, Proof: p.now}
		named := place.IDs{Member: m.ID}
		for _, at := range at.Seats {
			s := &domain.Seat{ID: id.New(id.Seat, p.now), Org: in.Org, Member: m.ID, GPU: at.GPU, Kind: w.offering.Kind, Share: 1000,
				MemoryMiB: w.offering.MemoryMiB, AssignedAt: p.now}
			if s.Kind == domain.MIG {
				s.Profile, s.Start, s.Size = at.Profile, at.Placement.Start, at.Placement.Size
			}
			m.Seats, named.Seats = append(m.Seats, s), append(named.Seats, s.ID)
		}
		i.Members, ids = append(i.Members, m), append(ids, named)
	}
	if err := p.pool.Apply(d, ids); err != nil {
		return nil, fmt.Errorf("take the place that was planned: %w", err)
	}
	p.add(i)
	return i, nil
}

// clone copies what may change after the batch.
func clone(i *domain.Instance) *domain.Instance {
	c := *i
	c.Members = slices.Clone(i.Members)
	for n, m := range c.Members {
		mem := *m
		mem.Seats = slices.Clone(m.Seats)
		for k, s := range mem.Seats {
			seat := *s
			mem.Seats[k] = &seat
		}
		c.Members[n] = &mem
	}
	return &c
}
