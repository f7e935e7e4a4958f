package inventory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// One changed fact is one item with the whole node; the same facts are none.
func TestFactsAreToldOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.enroll("n1").Node
	a0, a1 := card(0, "GPU-0", "h100-80gb-sxm5"), card(1, "GPU-1", "h100-80gb-sxm5")
	b.report(id, status("b1", 1, a0, a1))
	it := b.last(id, 2)
	require.Equal(t, "ready", it.State)
	require.Equal(t, "b1", *it.BootID)
	require.Len(t, it.GPUs, 2)
	require.Equal(t, "h100-80gb", it.GPUs[0].Model)
	require.Equal(t, "auto", it.GPUs[0].Policy)
	require.NotEmpty(t, it.GPUs[0].Profiles)

	for seq := 2; seq < 6; seq++ {
		b.clk.Advance(time.Second)
		warm := with(a0, "temperature_c", 40+seq, "layout", []object{{"start": 0, "size": 1, "profile": "1g.10gb", "device_uuid": "MIG-1", "foreign": false, "member": "mem_1"}})
		b.report(id, status("b1", seq, warm, a1))
	}
	b.last(id, 2)
	require.Equal(t, "2026-03-01T12:00:04Z", b.node(id)["last_seen_at"])
	gpu := b.gpus(id)[0]
	require.EqualValues(t, 45, gpu["health"].(object)["temperature_c"])
	slice := gpu["layout"].([]any)[0].(object)
	require.Equal(t, "mem_1", slice["member"])
	require.Nil(t, slice["instance"])
	require.Nil(t, slice["org"])
	require.Equal(t, "3g.40gb", gpu["largest_free_profile"], "4g starts at 0 only")

	b.report(id, with(status("b1", 6, a0, a1), "ram_mib", 1000))
	require.EqualValues(t, 1000, b.last(id, 3).RAMMiB)
	b.report(id, with(status("b1", 7, a0, a1), "ram_mib", 1000))
	b.last(id, 3)
	b.report(id, with(status("b2", 1, a0, a1), "ram_mib", 1000))
	require.Equal(t, "b2", *b.last(id, 4).BootID, "a new boot is a fact")
	b.report(id, with(status("b2", 2, with(a0, "mig_mode", "on"), a1), "ram_mib", 1000))
	b.last(id, 5)
}

func TestACardIsLostAndFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.enroll("n1").Node
	a0, a1 := card(0, "GPU-0", "l4-24gb"), card(1, "GPU-1", "l4-24gb")
	b.report(id, status("b1", 1, a0, a1))
	gpu := b.gpus(id)[1]["id"]

	b.report(id, status("b1", 2, a0))
	it := b.last(id, 3)
	require.Len(t, it.GPUs, 2)
	require.Equal(t, "lost", it.GPUs[1].State)
	require.EqualValues(t, 2, b.node(id)["gpus"])
	require.Len(t, do[struct{ Items []object }](b, 200, operator, "GET", "/v1/admin/gpus?state=lost", nil).Items, 1)
	b.report(id, status("b1", 3, a0))
	b.last(id, 3)

	b.report(id, status("b1", 4, a0, a1))
	require.Equal(t, "ok", b.last(id, 4).GPUs[1].State)
	require.Equal(t, gpu, b.gpus(id)[1]["id"])
	b.report(id, status("b1", 5, a0, with(a1, "state", "lost", "memory_mib", 0, "board", "")))
	require.Equal(t, "lost", b.last(id, 5).GPUs[1].State)
	require.Equal(t, "l4-24gb", b.gpus(id)[1]["board"])
}

func TestAForeignSliceQuarantinesTheCard(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.enroll("n1").Node
	c := with(card(0, "GPU-0", "a100-40gb"), "mig_mode", "on", "policy", "mig")
	b.report(id, status("b1", 1, c))
	require.Equal(t, "mig", b.last(id, 2).GPUs[0].Policy)
	foreign := []object{{"start": 0, "size": 1, "profile": "1g.5gb", "device_uuid": "", "foreign": true}}
	b.report(id, status("b1", 2, with(c, "layout", foreign)))
	require.Equal(t, "quarantined", b.last(id, 3).GPUs[0].State)
	gpu := b.gpus(id)[0]
	require.Equal(t, true, gpu["layout"].([]any)[0].(object)["foreign"])
	require.Nil(t, gpu["largest_free_profile"])
	b.report(id, status("b1", 3, c))
	require.Equal(t, "ok", b.last(id, 4).GPUs[0].State)
}

// Copies, reversed order and old boots change nothing and are counted.
func TestStaleStatusesAreIgnoredAndCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.enroll("n1").Node
	a0 := card(0, "GPU-0", "l4-24gb")
	first, second := status("b1", 1, a0), with(status("b1", 2, a0), "ram_mib", 7)
	b.report(id, first)
	b.report(id, with(second, "counters", object{"stops_held": 3}))
	require.EqualValues(t, 3, b.node(id)["counters"].(object)["stops_held"])
	second["counters"] = object{"stops_held": 3}
	for range 10 {
		b.stale(id, second)
	}
	b.stale(id, first)
	b.report(id, status("b2", 1, a0))
	b.stale(id, second)
	b.stale(id, first)
	n := b.node(id)
	require.EqualValues(t, 13, n["ignored_statuses"])
	require.Equal(t, "b2", n["boot_id"])
	require.Equal(t, "ready", n["state"])
	require.Equal(t, false, n["quarantined"])
	b.last(id, 4)
}

// A machine with a copy of a node's identity: neither is believed until one is enrolled
// anew.
func TestTwoMachinesOneIdentity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.enroll("n1").Node
	a0 := card(0, "GPU-0", "l4-24gb")
	b.report(id, status("mine", 5, a0))
	b.report(id, status("clone", 1, a0))
	b.stale(id, status("mine", 6, a0))
	b.report(id, status("clone", 2, a0))
	require.Equal(t, "ready", b.node(id)["state"], "one could have been under way")
	b.stale(id, status("mine", 7, a0))
	n := b.node(id)
	require.Equal(t, "not_ready", n["state"])
	require.Equal(t, "duplicate_identity", n["state_reason"])
	require.Equal(t, true, n["quarantined"])
	it := b.last(id, 4)
	require.True(t, it.Quarantined)
	require.Equal(t, "not_ready", it.State)

	b.report(id, status("clone", 3, a0))
	require.Equal(t, "not_ready", b.node(id)["state"], "speaking does not help")
	require.Equal(t, "forbidden", do[problem](b, 403, node(id), "POST", "/agent/v1/renew", object{"csr_pem": csr(t)}).Code)
	b.stale(id, status("mine", 8, a0))
	b.last(id, 4)

	b.enroll("n1")
	b.report(id, status("mine", 9, a0))
	n = b.node(id)
	require.Equal(t, "ready", n["state"])
	require.Equal(t, false, n["quarantined"])
}

// A node speaks for itself: the id comes from its certificate, a body has no place for one,
// and another node's card is not taken by naming it.
func TestANodeCannotSpeakForAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, other := b.enroll("n1").Node, b.enroll("n2").Node
	b.report(one, status("b1", 1, card(0, "GPU-0", "l4-24gb")))
	p := do[problem](b, 422, node(other), "POST", "/agent/v1/status", with(status("b2", 1), "node", one))
	require.Equal(t, "node", p.Errors[0].Field)

	b.report(other, status("b2", 1, card(0, "GPU-0", "l4-24gb"), card(1, "GPU-9", "l4-24gb")))
	require.Len(t, b.gpus(one), 1)
	theirs := b.gpus(other)
	require.Len(t, theirs, 1)
	require.Equal(t, "GPU-9", theirs[0]["uuid"])
	b.last(one, 2)

	do[problem](b, 401, nobody, "POST", "/agent/v1/status", status("b3", 1))
	do[problem](b, 403, operator, "POST", "/agent/v1/status", status("b3", 1))
	do[problem](b, 403, service("sim"), "POST", "/agent/v1/status", status("b3", 1))
	do[problem](b, 403, node("nod_00000000000000000000000001"), "POST", "/agent/v1/status", status("b3", 1))
}

// A card moved to another server keeps its id, once its old node lost it.
func TestACardMoves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, other := b.enroll("n1").Node, b.enroll("n2").Node
	a0 := card(0, "GPU-0", "l4-24gb")
	b.report(one, status("b1", 1, a0))
	gpu := b.gpus(one)[0]["id"]
	b.report(other, status("b2", 1, a0))
	require.Empty(t, b.gpus(other))
	b.report(one, status("b1", 2))
	b.report(other, status("b2", 2, a0)) // the same facts as before
	require.Empty(t, b.gpus(one))
	moved := b.gpus(other)
	require.Len(t, moved, 1)
	require.Equal(t, gpu, moved[0]["id"])
	require.Equal(t, "ok", moved[0]["state"])
	require.Empty(t, b.last(one, 4).GPUs)
	require.Len(t, b.last(other, 3).GPUs, 1)
}

func TestBadStatuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.enroll("n1").Node
	a0 := card(0, "GPU-0", "l4-24gb")
	for field, st := range map[string]object{
		"protocol":         with(status("b", 1), "protocol", 9),
		"cards[1].uuid":    status("b", 1, a0, a0),
		"seq":              status("b", 0),
		"cards[0].sms":     status("b", 1, with(a0, "sms", -1)),
		"hostname":         with(status("b", 1), "hostname", "a\x00b"),
		"cards[0].unknown": status("b", 1, with(a0, "unknown", 1)),
	} {
		p := do[problem](b, 422, node(id), "POST", "/agent/v1/status", st)
		require.Equal(t, "invalid", p.Code, field)
		require.Equal(t, field, p.Errors[0].Field)
	}
	b.last(id, 1)
}
