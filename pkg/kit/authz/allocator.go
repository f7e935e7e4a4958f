package authz

import "github.com/weirhq/weir/pkg/kernel/actor"

var allocatorRules = map[string]Rule{
	"listOfferings":      {Who: AnyMember.OperatorToo()},
	"createInstance":     {Who: Roles(actor.Owner, actor.Admin, actor.Developer)},
	"listInstances":      {Who: AnyMember},
	"getInstance":        {Who: AnyMember, Object: "instance"},
	"stopInstance":       {Who: Roles(actor.Owner, actor.Admin, actor.Developer), Object: "instance"},
	"deleteInstance":     {Who: Roles(actor.Owner, actor.Admin, actor.Developer), Object: "instance"},
	"listInstanceEvents": {Who: AnyMember, Object: "instance"},

	"adminListInstances": {Who: Operator},
	"adminStopInstance":  {Who: Operator},
	"adminFenceInstance": {Who: Operator},
	"adminGetSnapshot":   {Who: Operator},

	"putMemberReports": {Who: NodeOnly},
	"getDesired":       {Who: NodeOnly},
	"putGoingDown":     {Who: NodeOnly},

	"getLimitUsage":     {Who: AnyMember},
	"syncAllocatorFeed": {Who: Services("tenant", "metering")},
}
