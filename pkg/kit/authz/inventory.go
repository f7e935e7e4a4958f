package authz

var inventoryRules = map[string]Rule{}
