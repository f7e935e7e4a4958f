package authz

var meteringRules = map[string]Rule{}
