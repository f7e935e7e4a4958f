package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/services/allocator/internal/api/publicgen"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// CreateInstance rents.
func (h public) CreateInstance(ctx context.Context, r publicgen.CreateInstanceRequestObject) (publicgen.CreateInstanceResponseObject, error) {
	in, err := createInput(actor.From(ctx), *r.Body)
	if err != nil {
		return nil, err
	}
	key, err := keyOf(ctx)
	if err != nil {
		return nil, err
	}
	i, err := h.app.Create(ctx, in, key, func(i *domain.Instance) (int, []byte, error) {
		body, err := json.Marshal(wireInstance(i))
		return http.StatusCreated, body, err
	})
	if err != nil {
		return nil, replayed(err)
	}
	return publicgen.CreateInstance201JSONResponse(wireInstance(i)), nil
}

func createInput(who actor.Actor, b publicgen.InstanceCreate) (domain.CreateInput, error) {
	fields := notYet(b)
	in := domain.CreateInput{Org: who.Org, Project: value(b.Project), Name: b.Name, Count: 1, Image: value(b.Image), Command: value(b.Command),
		Env: value(b.Env), Labels: value(b.Labels), By: by(who)}
	if who.Project != "" {
		if in.Project != "" && in.Project != who.Project {
			fields = append(fields, fault.Field{Field: "project", Message: "is not the one that your key is bound to"})
		}
		in.Project = who.Project
	}
	switch {
	case b.Offering != nil && b.Offerings != nil:
		fields = append(fields, fault.Field{Field: "offerings", Message: "cannot be combined with offering"})
	case b.Offering != nil:
		in.Offerings = []string{*b.Offering}
	case b.Offerings != nil:
		in.Offerings, in.List = *b.Offerings, true
	}
	if b.Count != nil {
		in.Count = *b.Count
	}
	if b.Vcpus != nil {
		v, err := domain.ParseDecimal(*b.Vcpus, 3)
		if err != nil {
			fields = append(fields, fault.Field{Field: "vcpus", Message: err.Error()})
		}
		in.VCPUsMilli = &v
	}
	in.RAMMiB = b.RAMMib
	if b.MaxPricePerHour != nil {
		bound, currency, err := priceBound(*b.MaxPricePerHour)
		if err != nil {
			fields = append(fields, fault.Field{Field: "max_price_per_hour", Message: "must be an amount with at most 6 decimals"})
		}
		in.MaxPerHour, in.MaxCurrency = bound, currency
	}
	return in, domain.Invalid(fields)
}

// priceBound reads a decimal string, or one with its currency; null is no bound.
func priceBound(b publicgen.PriceBound) (*money.Micro, string, error) {
	raw, err := b.MarshalJSON()
	if err != nil {
		return nil, "", err
	}
	var text *string
	var amount struct{ Amount, Currency string }
	if json.Unmarshal(raw, &text) == nil {
		if text == nil {
			return nil, "", nil
		}
		amount.Amount = *text
	} else if err := json.Unmarshal(raw, &amount); err != nil {
		return nil, "", err
	}
	m, err := money.Parse(amount.Amount)
	return &m, amount.Currency, err
}

// notYet names every part of a request that asks for what is not built yet: it is refused,
// never ignored.
func notYet(b publicgen.InstanceCreate) (fields []fault.Field) {
	refuse := func(asked bool, field, message string) {
		if asked {
			fields = append(fields, fault.Field{Field: field, Message: message})
		}
	}
	const later = "is not available yet"
	refuse(value(b.Wait), "wait", "true "+later+": there is no queue")
	refuse(b.Term != nil && *b.Term != publicgen.InstanceCreateTermOnDemand, "term", "other than on_demand "+later)
	refuse(b.Share != nil, "share", later+": cards are rented whole or as MIG slices")
	refuse(value(b.Nodes) > 1, "nodes", "above 1 "+later)
	refuse(b.DiskGib != nil && *b.DiskGib > 0, "disk_gib", later)
	refuse(b.Queue != nil, "queue", later)
	refuse(b.Priority != nil, "priority", later)
	refuse(value(b.Preemptible), "preemptible", "true "+later)
	refuse(b.Template != nil, "template", later)
	refuse(b.AutoStop != nil && (b.AutoStop.At != nil || b.AutoStop.IdleMinutes != nil), "auto_stop", later)
	refuse(b.MaxDuration != nil, "max_duration", later)
	refuse(value(b.AutoRenew), "auto_renew", "true "+later)
	refuse(b.AcceptIsolation != nil, "accept_isolation", later)
	refuse(len(value(b.SSHPublicKeys)) > 0, "ssh_public_keys", later)
	refuse(len(value(b.Ports)) > 0, "ports", later)
	if c := b.Constraints; c != nil {
		refuse(c.Pool != nil, "constraints.pool", later)
		refuse(c.Zone != nil, "constraints.zone", later)
		refuse(c.SameRack != nil, "constraints.same_rack", later)
		refuse(c.ExclusiveNode != nil, "constraints.exclusive_node", later)
		refuse(c.GPUModels != nil, "constraints.gpu_models", later)
	}
	return fields
}
