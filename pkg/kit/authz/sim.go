package authz

var simRules = map[string]Rule{
	"createSimFault": {Who: Operator},
}
