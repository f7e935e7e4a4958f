package sim_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/testkit/apitest"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
	"github.com/weirhq/weir/services/inventory"
	"github.com/weirhq/weir/services/sim"
)

type object = map[string]any

var operator = actor.Actor{Kind: actor.User, ID: "usr_1", Operator: true}

// bundle is an inventory, simulated nodes and the agents' door between them.
type bundle struct {
	t     *testing.T
	stack *apitest.Stack
	door  *door
	group *host.Group
}

func setup(t *testing.T, nodes string) *bundle {
	t.Helper()
	specs, err := sim.ParseNodes(nodes)
	require.NoError(t, err)
	b := &bundle{t: t, stack: apitest.New(t, apitest.Config{Database: pgtest.New(t, "inventory")})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "https://" + ln.Addr().String()
	b.stack.Serve(func(env host.Env) (*host.Module, error) {
		return inventory.New(inventory.Config{AgentURL: url, NodeTimeout: 2 * time.Second}, env.For("inventory"))
	})
	b.door = openDoor(b, ln)
	b.group = b.stack.Serve(func(env host.Env) (*host.Module, error) {
		return sim.New(sim.Config{Nodes: specs, StateDir: t.TempDir(), Runtime: "null", AgentURL: url}, env.For("sim"))
	})
	return b
}

// call makes a request and reads the answer; it may run on any goroutine.
func (b *bundle) call(ctx context.Context, as apitest.Caller, service, method, path string, body any) (status int, answer []byte, err error) {
	base, client := as.Client(service)
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	r := bytes.NewReader(raw)
	if body == nil {
		r = bytes.NewReader(nil)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, r)
	if err != nil {
		return 0, nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

func (b *bundle) do(status int, as apitest.Caller, service, method, path string, body any) object {
	b.t.Helper()
	got, raw, err := b.call(b.t.Context(), as, service, method, path, body)
	require.NoError(b.t, err)
	require.Equal(b.t, status, got, "%s %s: %s", method, path, raw)
	var out object
	require.NoError(b.t, json.Unmarshal(raw, &out))
	return out
}

func (b *bundle) fault(status int, node string, body object) object {
	b.t.Helper()
	return b.do(status, b.stack.As(operator), "sim", "POST", "/v1/admin/sim/nodes/"+node+"/faults", body)
}

// list reads an operator's list of the inventory.
func (b *bundle) list(path string) (items []object) {
	b.t.Helper()
	for _, it := range b.do(200, b.stack.As(operator), "inventory", "GET", path, nil)["items"].([]any) {
		items = append(items, it.(object))
	}
	return items
}

func (b *bundle) node(name string) object {
	b.t.Helper()
	items := b.list("/v1/admin/nodes?name=" + name)
	require.Len(b.t, items, 1)
	return items[0]
}

// until waits for a condition that the agents bring about.
func (b *bundle) until(what string, ok func() bool) {
	b.t.Helper()
	require.Eventually(b.t, ok, 30*time.Second, 20*time.Millisecond, what)
}

// door is the agents' TLS door as the gateway keeps it, with an allocator that wants
// nothing.
type door struct {
	b    *bundle
	mu   sync.Mutex
	down []string // nodes that said farewell
}

func openDoor(b *bundle, ln net.Listener) *door {
	b.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(b.t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, key)
	require.NoError(b.t, err)
	cert := b.do(201, b.stack.AsService("gateway"), "inventory", "POST", "/internal/v1/server-certificate",
		object{"csr_pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))})
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(b.t, err)
	pair, err := tls.X509KeyPair([]byte(cert["certificate_pem"].(string)), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	require.NoError(b.t, err)
	roots := x509.NewCertPool()
	require.True(b.t, roots.AppendCertsFromPEM([]byte(cert["ca_pem"].(string))))

	d := &door{b: b}
	server := &http.Server{Handler: d, ReadHeaderTimeout: time.Second}
	go func() {
		_ = server.Serve(tls.NewListener(ln, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
			ClientCAs: roots, ClientAuth: tls.VerifyClientCertIfGiven}))
	}()
	b.t.Cleanup(func() { _ = server.Close() })
	return d
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who := actor.Actor{}
	if certs := r.TLS.PeerCertificates; len(certs) > 0 {
		who = actor.Actor{Kind: actor.Node, ID: strings.TrimPrefix(certs[0].URIs[0].Path, "/node/")}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/agent/v1/enroll", "/agent/v1/renew", "/agent/v1/status":
		status, answer, err := d.b.call(r.Context(), d.b.stack.As(who), "inventory", r.Method, r.URL.Path, json.RawMessage(body))
		if err != nil {
			status = http.StatusServiceUnavailable
		}
		if status >= 400 {
			w.Header().Set("Content-Type", "application/problem+json")
		}
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	case "/agent/v1/reports":
		var report struct{ Seq int64 }
		_ = json.Unmarshal(body, &report)
		_ = json.NewEncoder(w).Encode(object{"seq": report.Seq, "acknowledged": []string{}, "new_boot_cleared": true})
	case "/agent/v1/desired":
		if r.URL.Query().Get("incarnation") == "" {
			_ = json.NewEncoder(w).Encode(object{"incarnation": "i", "generation": 1, "members": []string{}})
			return
		}
		select {
		case <-r.Context().Done():
		case <-time.After(time.Second):
		}
		w.WriteHeader(http.StatusNoContent)
	case "/agent/v1/going_down":
		d.mu.Lock()
		d.down = append(d.down, who.ID)
		d.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}
