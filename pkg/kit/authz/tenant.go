package authz

import "github.com/weirhq/weir/pkg/kernel/actor"

var tenantRules = map[string]Rule{
	"signUp":         {Who: Anyone},
	"logIn":          {Who: Anyone},
	"refreshSession": {Who: Anyone},
	"logOut":         {Who: AnyMember.OperatorToo().PeopleOnly()},
	"getMe":          {Who: AnyMember.OperatorToo()},

	"getOrg":       {Who: AnyMember},
	"updateOrg":    {Who: Roles(actor.Owner, actor.Admin)},
	"listProjects": {Who: AnyMember},

	// A key that could make, enable or remove keys would outlive its own revocation.
	"listApiKeys":  {Who: AnyMember},
	"createApiKey": {Who: Roles(actor.Owner, actor.Admin, actor.Developer).PeopleOnly()},
	"updateApiKey": {Who: Roles(actor.Owner, actor.Admin, actor.Developer).PeopleOnly(), Object: "api_key"},
	"deleteApiKey": {Who: Roles(actor.Owner, actor.Admin, actor.Developer).PeopleOnly(), Object: "api_key"},

	"listOrgs":       {Who: Operator},
	"createOrg":      {Who: Operator},
	"getAdminOrg":    {Who: Operator},
	"updateAdminOrg": {Who: Operator},

	"authenticate": {Who: Services("gateway")},
	"getOrgLimits": {Who: AnyMember},
}
