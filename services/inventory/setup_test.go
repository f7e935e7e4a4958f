package inventory_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/apitest"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
	"github.com/weirhq/weir/services/inventory"
)

const agentURL = "https://weir.example:8443"

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bundle is the service on a database of its own, under a clock of the test.
type bundle struct {
	t     *testing.T
	clk   *clock.Fake
	db    pg.Database
	work  *pg.DB // to look at rows
	stack *apitest.Stack
	keys  atomic.Int64 // idempotency keys so far
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, clk: clock.NewFake(start), db: pgtest.New(t, "inventory")}
	b.work = pgtest.Open(t, b.db, "inventory", pg.Work, 1)
	b.stack = apitest.New(t, apitest.Config{Database: b.db, Real: b.clk})
	b.stack.Serve(func(env host.Env) (*host.Module, error) {
		return inventory.New(inventory.Config{AgentURL: agentURL}, env.For("inventory"))
	})
	return b
}

var (
	operator = actor.Actor{Kind: actor.User, ID: "usr_1", Operator: true}
	nobody   = actor.Actor{}
)

func node(id string) actor.Actor { return actor.Actor{Kind: actor.Node, ID: id} }

func service(name string) actor.Actor { return actor.Actor{Kind: actor.Service, ID: name} }

// answer is what came back.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// send makes a request; headers are name, value, name, value …
func (b *bundle) send(as actor.Actor, method, path string, body any, headers ...string) (answer, error) {
	base, client := b.stack.As(as).Client("inventory")
	var r io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, base+path, r)
	if err != nil {
		return answer{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, raw}, err
}

// do makes a request that must be answered with that status, and reads the answer as T.
func do[T any](b *bundle, status int, as actor.Actor, method, path string, body any, headers ...string) T {
	b.t.Helper()
	a, err := b.send(as, method, path, body, headers...)
	require.NoError(b.t, err)
	require.Equal(b.t, status, a.Status, "%s %s: %s", method, path, a.Body)
	var out T
	if len(a.Body) > 0 {
		require.NoError(b.t, json.Unmarshal(a.Body, &out))
	}
	return out
}

type object = map[string]any

// problem is a refusal.
type problem struct {
	Code, Detail string
	Errors       []struct{ Field string }
}

// token issues a join token; nodeName may be "".
func (b *bundle) token(nodeName string) string {
	b.t.Helper()
	body := object{}
	if nodeName != "" {
		body["node_name"] = nodeName
	}
	key := fmt.Sprintf("key-%d", b.keys.Add(1))
	return do[object](b, 201, operator, "POST", "/v1/admin/join-tokens", body, "Idempotency-Key", key)["secret"].(string)
}

func csr(t testing.TB) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

type enrolled struct {
	Node           string
	CertificatePEM string    `json:"certificate_pem"`
	CAPEM          string    `json:"ca_pem"`
	NotAfter       time.Time `json:"not_after"`
}

func (b *bundle) enroll(name string) enrolled {
	b.t.Helper()
	return do[enrolled](b, 201, nobody, "POST", "/agent/v1/enroll", object{"token": b.token(name), "csr_pem": csr(b.t), "node_name": name})
}

// certificate checks that e is what the authority signed.
func (e enrolled) certificate(t testing.TB, at time.Time) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(e.CertificatePEM))
	require.NotNil(t, block)
	cert, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(e.CAPEM)))
	_, err = cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.NoError(t, err)
	return cert
}

// card is a card of a board as an agent reports it.
func card(index int, uuid, board string) object {
	b, ok := mig.BoardByKey(board)
	if !ok {
		panic("unknown board " + board)
	}
	profiles := []object{}
	for _, p := range b.Profiles {
		profiles = append(profiles, object{"name": p.Name, "id": p.ID, "ci_profile_id": p.CIProfileID, "memory_mib": p.MemoryMiB, "sms": p.SMs,
			"compute_slices": p.ComputeSlices, "size": p.Size, "starts": p.Starts})
	}
	return object{"index": index, "uuid": uuid, "serial": "S" + uuid, "board": b.Key, "product": b.Product, "arch": b.Arch, "memory_mib": b.MemoryMiB,
		"sms": b.SMs, "units": b.Units, "mig_mode": "off", "reset_to_toggle": b.ResetToToggle, "state": "ok", "profiles": profiles, "layout": []object{}}
}

func with(o object, kv ...any) object {
	out := object{}
	for k, v := range o {
		out[k] = v
	}
	for i := 0; i < len(kv); i += 2 {
		out[kv[i].(string)] = kv[i+1]
	}
	return out
}

// status is a status of a node with these cards; at is the node's own clock.
func status(boot string, seq int, cards ...object) object {
	if cards == nil {
		cards = []object{}
	}
	return object{"boot_id": boot, "seq": seq, "protocol": 1, "agent_version": "0.1.0", "simulated": true, "hostname": "h", "vcpus_milli": 192000,
		"ram_mib": 2097152, "disk_mib": 1000, "cards": cards, "at": start}
}

func (b *bundle) report(id string, st object) {
	b.t.Helper()
	got := do[object](b, 200, node(id), "POST", "/agent/v1/status", st)
	require.EqualValues(b.t, st["seq"], got["seq"])
	require.EqualValues(b.t, 10, got["interval_seconds"])
}

func (b *bundle) stale(id string, st object) {
	b.t.Helper()
	require.Equal(b.t, "conflict", do[problem](b, 409, node(id), "POST", "/agent/v1/status", st).Code)
}

func (b *bundle) node(id string) object {
	b.t.Helper()
	return do[object](b, 200, operator, "GET", "/v1/admin/nodes/"+id, nil)
}

func (b *bundle) gpus(id string) []object {
	b.t.Helper()
	return do[struct{ Items []object }](b, 200, operator, "GET", "/v1/admin/gpus?node="+id, nil).Items
}

// item is what the feed told of a node.
type item struct {
	ID          string
	State       string
	StateReason *string `json:"state_reason"`
	Cordoned    bool
	Quarantined bool
	BootID      *string `json:"boot_id"`
	RAMMiB      int64   `json:"ram_mib"`
	Version     int64
	GPUs        []struct {
		ID, UUID, State, Policy, Model string
		Cordoned                       bool
		Profiles                       []struct{ Name string }
	}
}

// items are all feed items so far of a node, in the order they were written.
func (b *bundle) items(id string) []item {
	b.t.Helper()
	var out []item
	require.NoError(b.t, b.work.InTx(b.t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		out = nil
		var raw []string
		if err := tx.Raw(`SELECT data FROM outbox WHERE feed = 'nodes' AND key = ? ORDER BY seq`, id).Scan(&raw).Error; err != nil {
			return err
		}
		for _, r := range raw {
			var it item
			if err := json.Unmarshal([]byte(r), &it); err != nil {
				return err
			}
			out = append(out, it)
		}
		return nil
	}))
	for i := 1; i < len(out); i++ {
		require.Equal(b.t, out[i-1].Version+1, out[i].Version, "one item per version, in order")
	}
	return out
}

// last is the newest item of a node, of which there must be n.
func (b *bundle) last(id string, n int) item {
	b.t.Helper()
	items := b.items(id)
	require.Len(b.t, items, n)
	return items[n-1]
}

// count runs a query that counts.
func (b *bundle) count(sql string, args ...any) (n int) {
	b.t.Helper()
	require.NoError(b.t, b.work.InTx(b.t.Context(), pg.Scope{}, func(tx *pg.Tx) error { return tx.Raw(sql, args...).Scan(&n).Error }))
	return n
}

// untilNotReady moves the clock on, second by second, until the loop finds the node silent.
func (b *bundle) untilNotReady(id string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		b.clk.Advance(time.Second)
		return b.node(id)["state"] == "not_ready"
	}, 30*time.Second, 5*time.Millisecond)
}
