package authz

var meteringRules = map[string]Rule{
	"listUsage":  {Who: AnyMember},
	"listPrices": {Who: Anyone},

	"getCosts":          {Who: AnyMember.OperatorToo()},
	"syncMeteringFeeds": {Who: Services("gateway", "allocator", "tenant")},
}
