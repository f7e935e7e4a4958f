package authz

var allocatorRules = map[string]Rule{}
