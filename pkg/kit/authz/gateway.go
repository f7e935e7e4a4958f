package authz

var gatewayRules = map[string]Rule{
	"getHealth":       {Who: Anyone},
	"getReadiness":    {Who: Anyone},
	"getOpenAPI":      {Who: Anyone},
	"getLimits":       {Who: AnyMember},
	"getInstanceLogs": {Who: AnyMember, Object: "instance"},
}
