package command

import (
	"encoding/json"
	"time"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/api/commonapi"
	"github.com/weirhq/weir/pkg/api/inventoryapi"
	"github.com/weirhq/weir/pkg/api/meteringapi"
	"github.com/weirhq/weir/pkg/api/tenantapi"
)

func ptr[T any](v T) *T { return &v }

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

const (
	insID  = "ins_01J9Z3N8Q4T5V6W7X8Y9Z0A1B2"
	nodID  = "nod_01J9Z3N8Q4T5V6W7X8Y9Z0A1B2"
	orgID  = "org_01J9Z3N8Q4T5V6W7X8Y9Z0A1B2"
	keyID  = "key_01J9Z3N8Q4T5V6W7X8Y9Z0A1B2"
	prcID  = "prc_01J9Z3N8Q4T5V6W7X8Y9Z0A1B2"
	userID = "usr_01J9Z3N8Q4T5V6W7X8Y9Z0A1B2"
)

func instance(state allocatorapi.InstanceState) allocatorapi.Instance {
	i := allocatorapi.Instance{
		ID: insID, Name: "greeter", Project: ptr("prj_01J9Z3N8Q4T5V6W7X8Y9Z0A1B2"), State: state, Offering: "h100-80gb.1g.10gb", OfferingVersion: 3, Count: 1, Nodes: 1,
		Vcpus: "4", RAMMib: 32768, Command: &[]string{"sh", "-c", "echo 'hello'; sleep 30"}, Labels: map[string]string{"team": "vision", "env": "dev"},
		Price:     allocatorapi.InstancePrice{PerHour: "1.720000", Currency: "CNY", Version: prcID, Term: "on_demand"},
		CreatedAt: at("2026-11-30T08:00:00Z"),
		Slices: []allocatorapi.Slice{{
			Member: "mem_01J9Z3N8Q4T5V6W7X8Y9Z0A1B2", Node: nodID, NodeName: "sim-h100-1", GPU: "gpu_01J9Z3N8Q4T5V6W7X8Y9Z0A1B2", Kind: "mig",
			Profile: ptr("1g.10gb"), Start: ptr(2), Size: ptr(1), MemoryMib: 9984, DeviceUUID: ptr("MIG-6f3a2c1e-0000-5000-8000-000000000001"),
		}},
	}
	if state != allocatorapi.Assigned && state != allocatorapi.Preparing {
		i.RunningAt = ptr(at("2026-11-30T08:00:01.500Z"))
		i.CostSoFar = &allocatorapi.CostSoFar{Amount: "0.014333", Currency: "CNY"}
	}
	if state == allocatorapi.Stopped || state == allocatorapi.Failed {
		i.StoppedAt = ptr(at("2026-11-30T08:00:31.500Z"))
	}
	return i
}

func offeringList() allocatorapi.OfferingList {
	o := allocatorapi.Offering{
		ID: "h100-80gb.1g.10gb", Version: 3, Region: "local", GPUModel: "h100-80gb", Kind: "mig", Profile: ptr("1g.10gb"), GPUMemoryMib: 9984, SMFraction: "0.121212", Gpue: "0.122414",
		Vcpus: "4", RAMMib: 32768, Isolation: "hardware", Available: 112,
		Price: allocatorapi.OfferingPrice{PerHour: "1.720000", Currency: "CNY", Terms: []allocatorapi.OfferingPriceTerms{}, Version: prcID},
	}
	whole := o
	whole.ID, whole.Kind, whole.Profile, whole.GPUMemoryMib, whole.SMFraction, whole.Gpue = "h100-80gb.whole", "whole", nil, 81559, "1", "1"
	whole.Vcpus, whole.RAMMib, whole.Isolation, whole.Available, whole.AfterReconfigure = "28.5", 262144, "exclusive", 15, 1
	whole.Price.PerHour = "14.000000"
	return allocatorapi.OfferingList{Items: []allocatorapi.Offering{o, whole}}
}

func usageRows() []meteringapi.UsageRow {
	row := func(start, end, instance, seconds, gpue, amount, exact string, provisional bool) meteringapi.UsageRow {
		return meteringapi.UsageRow{Start: at(start), End: at(end), Instance: &instance, Seconds: json.Number(seconds), CardSeconds: json.Number(seconds), GpueSeconds: json.Number(gpue),
			Cost: commonapi.Money{Amount: amount, Currency: "CNY"}, CostMsMicro: exact, Provisional: provisional}
	}
	// The last two amounts are rounded up: shown sums would be a millionth too much.
	return []meteringapi.UsageRow{
		row("2026-11-29T16:00:00Z", "2026-11-30T16:00:00Z", insID, "30.001", "3.672543", "0.014334", "51601720000", false),
		row("2026-11-29T16:00:00Z", "2026-11-30T16:00:00Z", "ins_01J9Z3N8Q4T5V6W7X8Y9Z0A1B3", "30.001", "3.672543", "0.014334", "51601720000", false),
		row("2026-11-30T16:00:00Z", "2026-12-01T00:00:00Z", insID, "0.001", "0.000122", "0.000001", "1800001", true),
		row("2026-11-30T16:00:00Z", "2026-12-01T00:00:00Z", "ins_01J9Z3N8Q4T5V6W7X8Y9Z0A1B3", "0.001", "0.000122", "0.000001", "1800001", true),
	}
}

func priceList() meteringapi.PriceList {
	return meteringapi.PriceList{Items: []meteringapi.Price{
		{ID: prcID, Offering: "h100-80gb.whole", PerHour: "14.000000", Currency: "CNY", EffectiveFrom: at("2026-11-01T00:00:00Z"), EffectiveTo: ptr(at("2026-12-01T00:00:00Z"))},
		{ID: "prc_01J9Z3N8Q4T5V6W7X8Y9Z0A1B3", Offering: "h100-80gb.whole", PerHour: "13.500500", Currency: "CNY", EffectiveFrom: at("2026-12-01T00:00:00Z")},
	}}
}

func adminOrg() tenantapi.AdminOrg {
	return tenantapi.AdminOrg{ID: orgID, Name: "视觉实验室", Currency: "CNY", TimeZone: "Asia/Shanghai", Standing: "good", BillingMode: "postpaid", Approved: true,
		Limits: tenantapi.OrgLimits{Gpue: ptr(json.Number("8")), Instances: ptr(int64(20)), Gpus: tenantapi.GPULimits{}}, CreatedAt: at("2026-11-01T00:00:00Z")}
}

func apiKey() tenantapi.APIKey {
	return tenantapi.APIKey{ID: keyID, Name: "ci", Role: "developer", Owner: userID, Hint: "weir_d_…a1B2", CreatedAt: at("2026-11-30T08:00:00Z"), ExpiresAt: ptr(at("2026-12-30T08:00:00Z"))}
}

func node(name string, state inventoryapi.NodeState) inventoryapi.Node {
	return inventoryapi.Node{ID: nodID, Name: name, Pool: "default", Region: "local", State: state, Simulated: true, BootID: ptr("b1"), LastSeenAt: ptr(at("2026-11-30T08:00:00Z")),
		Vcpus: 224, RAMMib: 2097152, Gpus: 8, Labels: map[string]string{}, Counters: map[string]int64{}, CreatedAt: at("2026-11-30T07:00:00Z"), Version: 4}
}

func gpu(index int, layout ...inventoryapi.Slice) inventoryapi.GPU {
	if layout == nil {
		layout = []inventoryapi.Slice{}
	}
	return inventoryapi.GPU{ID: "gpu_01J9Z3N8Q4T5V6W7X8Y9Z0A1B2", UUID: "GPU-1", Node: nodID, NodeName: "sim-h100-1", Index: index, Board: "h100-80gb-sxm5", Product: "NVIDIA H100 80GB HBM3", Model: "h100-80gb",
		Arch: "hopper", Policy: "auto", MIGMode: "on", State: "ok", MemoryMib: 81559, Sms: 132, Units: 8, Layout: layout, LargestFreeProfile: ptr("4g.40gb"), Version: 1}
}
