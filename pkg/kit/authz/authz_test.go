package authz_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/authz"
)

// TestDecisions is every kind of caller against every kind of rule.
func TestDecisions(t *testing.T) {
	t.Parallel()
	const gw = "gateway"
	type caller struct {
		name, peer string
		who        actor.Actor
	}
	callers := []caller{
		{"nobody", gw, actor.Actor{}},
		{"stranger", gw, actor.Actor{Kind: actor.Service, ID: gw}}, // the gateway without a token
		{"owner", gw, actor.Actor{Kind: actor.User, ID: "usr_1", Org: "org_1", Role: actor.Owner}},
		{"viewer", gw, actor.Actor{Kind: actor.User, ID: "usr_2", Org: "org_1", Role: actor.Viewer}},
		{"key", gw, actor.Actor{Kind: actor.APIKey, ID: "key_1", Org: "org_1", Role: actor.Owner}},
		{"roleless", gw, actor.Actor{Kind: actor.User, ID: "usr_3", Org: "org_1"}},
		{"operator", gw, actor.Actor{Kind: actor.User, ID: "usr_4", Operator: true}},
		{"operator in org", gw, actor.Actor{Kind: actor.User, ID: "usr_5", Operator: true, Org: "org_1", Role: actor.Viewer}},
		{"node", gw, actor.Actor{Kind: actor.Node, ID: "nod_1"}},
		{"metering", "metering", actor.Actor{Kind: actor.Service, ID: "metering"}},
		{"tenant", "tenant", actor.Actor{Kind: actor.Service, ID: "tenant"}},
		{"pretender", "tenant", actor.Actor{Kind: actor.Service, ID: "metering"}},
	}
	const (
		yes = ""
		who = string(fault.Unauthenticated)
		no  = string(fault.Forbidden)
	)
	for _, c := range []struct {
		rule  authz.Who
		words string
		want  []string
	}{
		//                                  nobody str own  view key  less op   opin node met  ten  pret
		{authz.Anyone, "anyone", []string{yes, yes, yes, yes, yes, yes, yes, yes, yes, yes, yes, yes}},
		{authz.AnyMember, "any member", []string{who, who, yes, yes, yes, no, no, yes, no, no, no, no}},
		{authz.AnyMember.OperatorToo(), "any member, operator", []string{who, who, yes, yes, yes, no, yes, yes, no, no, no, no}},
		{authz.AnyMember.PeopleOnly(), "any member (not with an API key)", []string{who, who, yes, yes, no, no, no, yes, no, no, no, no}},
		{authz.Roles(actor.Owner, actor.Admin), "owner, admin", []string{who, who, yes, no, yes, no, no, no, no, no, no, no}},
		{authz.Roles(actor.Owner).OperatorToo(), "owner, operator", []string{who, who, yes, no, yes, no, yes, yes, no, no, no, no}},
		{authz.Operator, "operator", []string{who, who, no, no, no, no, yes, yes, no, no, no, no}},
		{authz.NodeOnly, "node", []string{who, who, no, no, no, no, no, no, yes, no, no, no}},
		{authz.Services("metering"), "service: metering", []string{who, who, no, no, no, no, no, no, no, yes, no, no}},
		{authz.Services("metering", "tenant"), "service: metering, tenant", []string{who, who, no, no, no, no, no, no, no, yes, yes, no}},
		{authz.Who{}, "nobody", []string{who, who, no, no, no, no, no, no, no, no, no, no}},
	} {
		require.Equal(t, c.words, c.rule.String())
		rules := authz.Rules{"op": {Who: c.rule}}
		for i, caller := range callers {
			err := rules.Check("op", caller.who, caller.peer)
			got := yes
			if err != nil {
				got = string(fault.From(err).Code)
			}
			require.Equal(t, c.want[i], got, "%s: %s", c.words, caller.name)
		}
	}
}

func TestOperationWithoutARuleIsShut(t *testing.T) {
	t.Parallel()
	err := authz.Check("noSuchOperation", actor.Actor{Kind: actor.User, ID: "usr_1", Operator: true, Org: "org_1", Role: actor.Owner}, "gateway")
	require.ErrorIs(t, err, fault.Internal)
	require.NotContains(t, fault.From(err).Public, "noSuchOperation")
}
