package authz

var tenantRules = map[string]Rule{}
