package authz

import "fmt"

// Table is every operation of every OpenAPI file and who may call it.
var Table = merge(tenantRules, inventoryRules, allocatorRules, meteringRules, gatewayRules, simRules)

func merge(parts ...map[string]Rule) Rules {
	all := Rules{}
	for _, p := range parts {
		for op, r := range p {
			if _, twice := all.Name(op); twice {
				panic(fmt.Sprintf("authz: operation %s has two rules", op))
			}
			all[op] = r
		}
	}
	return all
}
