package authz

var simRules = map[string]Rule{}
