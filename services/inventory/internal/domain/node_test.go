package domain

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

func TestWhoMayTakeAName(t *testing.T) {
	t.Parallel()
	alive, silent := Node{State: NodeReady}, Node{State: NodeNotReady}
	require.ErrorIs(t, alive.CheckTaken(false), fault.Conflict)
	require.NoError(t, alive.CheckTaken(true))
	require.NoError(t, silent.CheckTaken(false))
}

func TestRetire(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, Node{State: NodeReady}.CheckRetire(0), fault.Conflict)
	require.ErrorIs(t, Node{State: NodeReady, Cordoned: true}.CheckRetire(2), fault.Conflict)
	require.NoError(t, Node{State: NodeReady, Cordoned: true}.CheckRetire(0))
	require.NoError(t, Node{State: NodeNotReady}.CheckRetire(2), "a dead node's last layout holds nobody back")
}

func TestToken(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	good := JoinToken{ExpiresAt: now.Add(time.Hour)}
	require.NoError(t, good.Check(now, "any"))
	require.Equal(t, ErrToken, good.Check(now.Add(time.Hour), "any"))
	used := good
	used.UsedAt = now
	require.Equal(t, ErrToken, used.Check(now, "any"))
	bound := good
	bound.NodeName = "a"
	require.NoError(t, bound.Check(now, "a"))
	require.ErrorIs(t, bound.Check(now, "b"), fault.Forbidden)

	a, hash := NewSecret()
	b, _ := NewSecret()
	require.NotEqual(t, a, b)
	require.Regexp(t, `^wj_[A-Za-z0-9_-]{43}$`, a)
	require.Equal(t, hash, HashSecret(a))

	require.ErrorIs(t, TokenInput{Life: time.Hour + time.Second}.Validate(), fault.Invalid)
	require.ErrorIs(t, TokenInput{Life: time.Minute, NodeName: "UPPER"}.Validate(), fault.Invalid)
}

func TestStatusContradictsItself(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, Status{Protocol: 2}.Validate(), fault.Invalid)
	require.ErrorIs(t, Status{Protocol: 1, Cards: []Card{{UUID: "a"}, {UUID: "a"}}}.Validate(), fault.Invalid)
	require.NoError(t, Status{Protocol: 1, Cards: []Card{{UUID: "a"}, {UUID: "b"}}}.Validate())
}

// The feed's item is a contract with the allocator: names and nulls as agreed.
func TestItem(t *testing.T) {
	t.Parallel()
	n := Node{ID: "nod_1", Name: "n", Pool: "default", Region: "local", State: NodeReady, Version: 3, BootID: "b",
		Facts: NodeFacts{Simulated: true, VCPUsMilli: 1500, RAMMiB: 2, DiskMiB: 3}, LastSeenAt: time.Date(2026, 1, 1, 0, 0, 0, 123456789, time.UTC)}
	g := GPU{ID: "gpu_1", UUID: "GPU-a", Model: "h100-80gb", Policy: PolicyAuto, State: GPUOK, Facts: card("GPU-a", 1).Facts}
	first := g
	first.ID, first.Facts.Index = "gpu_0", 0
	b, err := json.Marshal(NewItem(n, []GPU{g, first}))
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"nod_1","name":"n","pool":"default","region":"local","state":"ready","state_reason":null,"cordoned":false,"quarantined":false,
"simulated":true,"boot_id":"b","last_seen_at":"2026-01-01T00:00:00.123Z","vcpus_milli":1500,"ram_mib":2,"disk_mib":3,"refusing_work":null,"rack":null,"zone":null,
"labels":{},"version":3,"gpus":[
{"id":"gpu_0","uuid":"GPU-a","index":0,"board":"h100-80gb-sxm5","product":"","model":"h100-80gb","arch":"hopper","serial":"","memory_mib":81559,"sms":132,"units":8,
 "mig_mode":"off","reset_to_toggle":false,"policy":"auto","state":"ok","cordoned":false,
 "profiles":[{"name":"1g.10gb","id":19,"ci_profile_id":0,"memory_mib":0,"sms":0,"compute_slices":1,"size":1,"starts":[0,1,2,3,4,5,6]}]},
{"id":"gpu_1","uuid":"GPU-a","index":1,"board":"h100-80gb-sxm5","product":"","model":"h100-80gb","arch":"hopper","serial":"","memory_mib":81559,"sms":132,"units":8,
 "mig_mode":"off","reset_to_toggle":false,"policy":"auto","state":"ok","cordoned":false,
 "profiles":[{"name":"1g.10gb","id":19,"ci_profile_id":0,"memory_mib":0,"sms":0,"compute_slices":1,"size":1,"starts":[0,1,2,3,4,5,6]}]}]}`, string(b))
}
