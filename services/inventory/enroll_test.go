package inventory_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEnrol(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.enroll("rack1-node1")
	cert := e.certificate(t, b.clk.Now())
	require.Equal(t, "spiffe://weir/node/"+e.Node, cert.URIs[0].String())
	require.LessOrEqual(t, e.NotAfter.Sub(b.clk.Now()), 24*time.Hour)

	n := b.node(e.Node)
	require.Equal(t, "rack1-node1", n["name"])
	require.Equal(t, "default", n["pool"])
	require.Equal(t, "local", n["region"])
	require.Equal(t, "not_ready", n["state"])
	require.Equal(t, "enrolled", n["state_reason"])
	require.Nil(t, n["boot_id"])
	it := b.last(e.Node, 1)
	require.Equal(t, "not_ready", it.State)
	require.Empty(t, it.GPUs)
}

// Used, expired and unknown tokens get one answer, so that nobody learns which it was.
func TestTokensThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	used, expired := b.token(""), b.token("")
	do[object](b, 201, nobody, "POST", "/agent/v1/enroll", object{"token": used, "csr_pem": csr(t), "node_name": "a"})
	b.clk.Advance(time.Hour)
	var details []string
	for _, token := range []string{used, expired, "wj_unknown", "x"} {
		p := do[problem](b, 403, nobody, "POST", "/agent/v1/enroll", object{"token": token, "csr_pem": csr(t), "node_name": "b"})
		require.Equal(t, "forbidden", p.Code)
		details = append(details, p.Detail)
	}
	for _, d := range details {
		require.Equal(t, details[0], d)
	}
	require.Equal(t, 1, b.count(`SELECT count(*) FROM node`))
}

func TestOneTokenTwentyMachines(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.token("")
	var won, refused atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		body := object{"token": token, "csr_pem": csr(t), "node_name": "n" + string(rune('a'+i))}
		wg.Go(func() {
			a, err := b.send(nobody, "POST", "/agent/v1/enroll", body)
			switch {
			case err != nil:
				t.Error(err)
			case a.Status == 201:
				won.Add(1)
			case a.Status == 403:
				refused.Add(1)
			default:
				t.Errorf("status %d: %s", a.Status, a.Body)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())
	require.EqualValues(t, 19, refused.Load())
	require.Equal(t, 1, b.count(`SELECT count(*) FROM node`))
	require.Equal(t, 1, b.count(`SELECT count(*) FROM certificate`))
}

// Two machines that were cloned with one host name join at once: one node, one of them.
func TestOneNameTwentyMachines(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var wg sync.WaitGroup
	for range 20 {
		body := object{"token": b.token(""), "csr_pem": csr(t), "node_name": "same"}
		wg.Go(func() {
			a, err := b.send(nobody, "POST", "/agent/v1/enroll", body)
			if err != nil || a.Status != 201 && a.Status != 409 {
				t.Errorf("status %d: %s, %v", a.Status, a.Body, err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, b.count(`SELECT count(*) FROM node`))
	require.Equal(t, 1, b.count(`SELECT count(*) FROM certificate WHERE revoked_at IS NULL`), "the last to come holds the name")
}

func TestRefusalsLeaveTheTokenUnused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.token("mine")
	enroll := func(status int, token, csr, name string) problem {
		return do[problem](b, status, nobody, "POST", "/agent/v1/enroll", object{"token": token, "csr_pem": csr, "node_name": name})
	}
	require.Equal(t, "invalid", enroll(422, token, "junk", "mine").Code)
	require.Equal(t, "forbidden", enroll(403, token, csr(t), "other").Code)
	require.Equal(t, "invalid", enroll(422, token, csr(t), "Not a name").Code)
	require.Zero(t, b.count(`SELECT count(*) FROM node`))
	enroll(201, token, csr(t), "mine")
}

// A known name keeps its id; the earlier certificates die; a living node is replaced only
// by a token that names it.
func TestEnrolAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.enroll("n1")
	b.report(first.Node, status("b1", 1, card(0, "GPU-1", "l4-24gb")))

	p := do[problem](b, 409, nobody, "POST", "/agent/v1/enroll", object{"token": b.token(""), "csr_pem": csr(t), "node_name": "n1"})
	require.Equal(t, "conflict", p.Code)

	second := b.enroll("n1")
	require.Equal(t, first.Node, second.Node)
	revoked := do[struct {
		Revoked []struct{ Serial, Node string }
	}](b, 200, service("gateway"), "GET", "/internal/v1/ca", nil).Revoked
	require.Len(t, revoked, 1)
	require.Equal(t, first.certificate(t, b.clk.Now()).SerialNumber.Text(16), revoked[0].Serial)
	require.Equal(t, first.Node, revoked[0].Node)
	b.report(first.Node, status("b1", 1, card(0, "GPU-1", "l4-24gb"))) // the machine's numbers may begin anew

	b.untilNotReady(first.Node)
	third := do[enrolled](b, 201, nobody, "POST", "/agent/v1/enroll", object{"token": b.token(""), "csr_pem": csr(t), "node_name": "n1"})
	require.Equal(t, first.Node, third.Node, "a silent node's name is free for the next machine")
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.enroll("n1")
	renew := func(id string) (int, enrolled) {
		a, err := b.send(node(id), "POST", "/agent/v1/renew", object{"csr_pem": csr(t)})
		require.NoError(t, err)
		if a.Status != 200 {
			return a.Status, enrolled{}
		}
		return a.Status, do[enrolled](b, 200, node(id), "POST", "/agent/v1/renew", object{"csr_pem": csr(t)})
	}
	b.clk.Set(start.Add(e.NotAfter.Sub(start) * 2 / 3))
	code, next := renew(e.Node)
	require.Equal(t, 200, code)
	require.Equal(t, e.Node, next.Node)
	require.Greater(t, next.NotAfter, e.NotAfter)
	next.certificate(t, b.clk.Now())

	b.clk.Set(e.NotAfter.Add(time.Second))
	code, next = renew(e.Node)
	require.Equal(t, 200, code, "the renewed one is still good")

	b.clk.Set(next.NotAfter.Add(time.Second))
	code, _ = renew(e.Node)
	require.Equal(t, 403, code, "what has run out renews nothing")
	require.Equal(t, e.Node, b.enroll("n1").Node, "the way back is a token")
	code, _ = renew(e.Node)
	require.Equal(t, 200, code)

	code, _ = renew("nod_00000000000000000000000001")
	require.Equal(t, 403, code)
}
