package authz

var gatewayRules = map[string]Rule{
	"getHealth":       {Who: Anyone},
	"getReadiness":    {Who: Anyone},
	"getOpenAPI":      {Who: Anyone},
	"getLimits":       {Who: AnyMember},
	"openTunnel":      {Who: NodeOnly},
	"getInstanceLogs": {Who: AnyMember, Object: "instance"},
}
