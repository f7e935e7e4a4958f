package api

import (
	"context"
	"encoding/json"
	"sort"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/tenant/internal/api/meshgen"
	"github.com/weirhq/weir/services/tenant/internal/api/publicgen"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

func (h handlers) GetOrgLimits(ctx context.Context, _ meshgen.GetOrgLimitsRequestObject) (meshgen.GetOrgLimitsResponseObject, error) {
	l, err := h.app.Limits(ctx)
	if err != nil {
		return nil, err
	}
	return meshgen.GetOrgLimits200JSONResponse{
		Org: l.Org, Gpue: decimal(l.GPUeMicro, domain.GPUePlaces), Vcpus: decimal(l.VCPUsMilli, domain.CPUPlaces),
		Instances: l.Instances, QueuedInstances: l.QueuedInstances, RAMMib: l.RAMMiB, Version: l.Version,
	}, nil
}

func wireLimits(l domain.Limits) publicgen.OrgLimits {
	return publicgen.OrgLimits{
		Gpue: decimal(l.GPUeMicro, domain.GPUePlaces), Vcpus: decimal(l.VCPUsMilli, domain.CPUPlaces),
		Instances: l.Instances, QueuedInstances: l.QueuedInstances, RAMMib: l.RAMMiB, Gpus: publicgen.GPULimits{},
	}
}

func decimal(v *int64, places int) *json.Number {
	if v == nil {
		return nil
	}
	n := json.Number(domain.FormatDecimal(*v, places))
	return &n
}

// readLimits reads a patch of limits, which the generated types cannot hold: null and
// absent differ in it, and its numbers must be read from their text.
func readLimits(raw json.RawMessage) (domain.LimitsPatch, error) {
	var p domain.LimitsPatch
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return p, fault.Wrap(fault.Invalid, "limits must be an object", err)
	}
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	sort.Strings(names) // the first refusal is always the same one
	for _, name := range names {
		if err := readLimit(&p, name, given[name]); err != nil {
			return p, err
		}
	}
	return p, nil
}

func readLimit(p *domain.LimitsPatch, name string, raw json.RawMessage) error {
	fields := map[string]struct {
		to     *domain.LimitChange
		places int
	}{
		"gpue": {&p.GPUeMicro, domain.GPUePlaces}, "vcpus": {&p.VCPUsMilli, domain.CPUPlaces},
		"instances": {&p.Instances, 0}, "queued_instances": {&p.QueuedInstances, 0}, "ram_mib": {&p.RAMMiB, 0},
	}
	f, known := fields[name]
	switch {
	case name == "gpus":
		var models map[string]json.RawMessage
		if err := json.Unmarshal(raw, &models); err != nil || len(models) > 0 {
			return fault.InvalidField("limits.gpus", "is not built yet: limits per GPU model cannot be set")
		}
		return nil
	case !known:
		return fault.InvalidField("limits."+name, "is not a limit")
	}
	f.to.Set = true
	if string(raw) == "null" {
		return nil
	}
	v, err := domain.ParseDecimal(string(raw), f.places)
	if err != nil {
		return fault.InvalidField("limits."+name, err.Error())
	}
	f.to.To = &v
	return nil
}
