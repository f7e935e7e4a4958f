package sim_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/services/sim"
)

// Real agents on simulated cards join by themselves, through the same door as any other.
func TestNodesJoinAndSayWhatTheyHave(t *testing.T) {
	t.Parallel()
	b := setup(t, "1xh100-80gb-sxm5:8,1xa100-40gb:4")
	b.until("both are ready", func() bool { return b.group.Ready(t.Context()) == nil })
	n := b.node("h100-80gb-sxm5-1")
	require.Equal(t, "ready", n["state"])
	require.Equal(t, true, n["simulated"])
	require.EqualValues(t, 192, n["vcpus"])
	require.EqualValues(t, 2<<20, n["ram_mib"])
	require.EqualValues(t, 8, n["gpus"])
	require.Equal(t, "null", n["runtime"].(object)["name"])
	gpus := b.list("/v1/admin/gpus?node=" + n["id"].(string))
	require.Len(t, gpus, 8)
	require.Equal(t, "auto", gpus[0]["policy"])
	require.Equal(t, "h100-80gb", gpus[7]["model"])
	require.EqualValues(t, 7, gpus[7]["index"])
	a100 := b.list("/v1/admin/gpus?node=" + b.node("a100-40gb-1")["id"].(string))
	require.Len(t, a100, 4)
	require.Equal(t, "mig", a100[0]["policy"])
	require.Equal(t, "on", a100[0]["mig_mode"])
	require.Equal(t, "7g.40gb", a100[0]["largest_free_profile"])
}

func TestFaults(t *testing.T) {
	t.Parallel()
	b := setup(t, "1xa100-40gb:2")
	const name = "a100-40gb-1"
	state := func() string { s, _ := b.node(name)["state"].(string); return s }
	b.until("ready", func() bool { return len(b.list("/v1/admin/nodes?state=ready")) == 1 })
	node := b.node(name)
	cards := func() []object { return b.list("/v1/admin/gpus?node=" + node["id"].(string)) }

	got := b.fault(202, name, object{"kind": "lose_gpu", "gpu": 1})
	require.Regexp(t, "^flt_", got["id"])
	require.Equal(t, "lose_gpu", got["kind"])
	b.until("the card is lost", func() bool { return cards()[1]["state"] == "lost" })
	b.fault(202, name, object{"kind": "heal"})
	b.until("the card is back", func() bool { return cards()[1]["state"] == "ok" })

	b.fault(202, name, object{"kind": "foreign_mig", "gpu": 0, "seconds": 1})
	b.until("the card is quarantined", func() bool { return cards()[0]["state"] == "quarantined" })
	b.until("and by itself no more", func() bool { return cards()[0]["state"] == "ok" })

	b.fault(202, name, object{"kind": "cut"})
	b.until("silent", func() bool { return state() == "not_ready" })
	b.fault(202, name, object{"kind": "heal"})
	b.until("heard again", func() bool { return state() == "ready" })
	require.Equal(t, node["boot_id"], b.node(name)["boot_id"])

	b.fault(202, name, object{"kind": "reboot"})
	b.until("another boot", func() bool { return b.node(name)["boot_id"] != node["boot_id"] && state() == "ready" })
	require.Equal(t, false, b.node(name)["quarantined"])
}

func TestFaultsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, "1xl4-24gb")
	enrollReal(b, "real-1")
	require.Equal(t, "not_found", b.fault(404, "nobody", object{"kind": "heal"})["code"])
	require.Equal(t, "not_found", b.fault(404, "No%20Name", object{"kind": "heal"})["code"])
	require.Equal(t, "conflict", b.fault(409, "real-1", object{"kind": "heal"})["code"])
	for _, c := range []struct {
		field string
		body  object
	}{
		{"kind", object{"kind": "ecc"}},
		{"kind", object{"kind": "earthquake"}},
		{"kind", object{}},
		{"gpu", object{"kind": "lose_gpu", "gpu": 5}},
		{"gpu", object{"kind": "heal", "gpu": 0}},
		{"xid", object{"kind": "xid"}},
		{"seconds", object{"kind": "slow"}},
		{"seconds", object{"kind": "cut", "seconds": 0.5}},
		{"direction", object{"kind": "cut", "direction": "up"}},
		{"extra", object{"kind": "heal", "extra": 1}},
	} {
		p := b.fault(422, "l4-24gb-1", c.body)
		require.Equal(t, c.field, p["errors"].([]any)[0].(object)["field"], "%v: %v", c.body, p)
	}
	path := "/v1/admin/sim/nodes/l4-24gb-1/faults"
	b.do(403, b.stack.As(actor.Actor{Kind: actor.User, ID: "usr_2", Org: "org_1", Role: actor.Owner}), "sim", "POST", path, object{"kind": "heal"})
	b.do(401, b.stack.As(actor.Actor{}), "sim", "POST", path, object{"kind": "heal"})
}

// enrollReal lets a machine join that nobody simulates here.
func enrollReal(b *bundle, name string) {
	b.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(b.t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	require.NoError(b.t, err)
	token := b.do(201, b.stack.AsService("sim"), "inventory", "POST", "/internal/v1/join-tokens", object{"node_name": name})["secret"]
	b.do(201, b.stack.As(actor.Actor{}), "inventory", "POST", "/agent/v1/enroll", object{"token": token, "node_name": name,
		"csr_pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))})
}

// A stop says farewell for every node.
func TestStopSaysFarewell(t *testing.T) {
	t.Parallel()
	b := setup(t, "3xl4-24gb")
	b.until("ready", func() bool { return b.group.Ready(t.Context()) == nil })
	require.NoError(t, b.group.Stop(context.WithoutCancel(t.Context())))
	b.door.mu.Lock()
	defer b.door.mu.Unlock()
	require.Len(t, b.door.down, 3)
	require.NotContains(t, b.door.down, "")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := sim.Config{StateDir: "d", Runtime: "null", AgentURL: "https://x"}
	for _, break_ := range []func(*sim.Config){
		func(c *sim.Config) { c.StateDir = "" },
		func(c *sim.Config) { c.Runtime = "docker" },
		func(c *sim.Config) { c.AgentURL = "http://x" },
		func(c *sim.Config) { c.Nodes = []sim.NodeSpec{{Name: "x"}} },
	} {
		bad := good
		break_(&bad)
		_, err := sim.New(bad, host.Env{})
		require.Error(t, err)
	}
}
