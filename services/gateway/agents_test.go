package gateway_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/services/gateway/internal/tunnel/tunneltest"
)

const nodeID = "nod_01JH0000000000000000000000"

// authority is inventory's certificate authority in small.
type authority struct {
	t       *testing.T
	key     *ecdsa.PrivateKey
	cert    *x509.Certificate
	pem     string
	mu      sync.Mutex
	serial  int64
	revoked []object
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, serial: 100}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.pem = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

func (a *authority) sign(template *x509.Certificate, pub any) []byte {
	a.mu.Lock()
	a.serial++
	template.SerialNumber = big.NewInt(a.serial)
	a.mu.Unlock()
	template.NotBefore = time.Now().Add(-time.Minute)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, pub, a.key)
	require.NoError(a.t, err)
	return der
}

func (a *authority) show(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	reply(200, object{"ca_pem": a.pem, "pin": "sha256:00", "revoked": append([]object{}, a.revoked...)})(w, r)
}

func (a *authority) certify(w http.ResponseWriter, r *http.Request) {
	var in struct {
		CSR string `json:"csr_pem"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	block, _ := pem.Decode([]byte(in.CSR))
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		a.t.Errorf("certificate request: %v", err)
		return
	}
	der := a.sign(&x509.Certificate{DNSNames: csr.DNSNames, IPAddresses: csr.IPAddresses, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, csr.PublicKey)
	chain := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) + a.pem
	reply(201, object{"certificate_pem": chain, "ca_pem": a.pem, "not_after": time.Now().Add(time.Hour)})(w, r)
}

// node is a client certificate with the given names.
func (a *authority) node(usage x509.ExtKeyUsage, uris ...string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{usage}}
	for _, s := range uris {
		u, err := url.Parse(s)
		require.NoError(a.t, err)
		template.URIs = append(template.URIs, u)
	}
	der := a.sign(template, &key.PublicKey)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (w *world) goodNode() tls.Certificate {
	return w.ca.node(x509.ExtKeyUsageClientAuth, "spiffe://weir/node/"+nodeID)
}

func (w *world) clientTLS(certs ...tls.Certificate) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(w.ca.cert)
	return &tls.Config{RootCAs: pool, Certificates: certs, NextProtos: []string{"h2", "http/1.1"}}
}

// agent asks the agents' door; an error of the handshake is returned.
func (w *world) agent(client *http.Client, method, path, body string) (response, error) {
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.agents+path, strings.NewReader(body))
	require.NoError(w.t, err)
	r.Header.Set("Authorization", "Bearer owner") // means nothing here
	resp, err := client.Do(r)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return response{resp, string(text)}, nil
}

func (w *world) agentClient(certs ...tls.Certificate) *http.Client {
	tr := &http.Transport{TLSClientConfig: w.clientTLS(certs...), ForceAttemptHTTP2: true}
	w.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestNodesReachTheirServices(t *testing.T) {
	t.Parallel()
	w := setup(t)
	client := w.agentClient(w.goodNode())
	for path, service := range map[string]string{
		"POST /agent/v1/renew": "inventory", "POST /agent/v1/status": "inventory", "POST /agent/v1/reports": "allocator",
		"GET /agent/v1/desired?wait=0": "allocator", "POST /agent/v1/going_down": "allocator",
	} {
		method, uri, _ := strings.Cut(path, " ")
		resp, err := w.agent(client, method, uri, "{}")
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode, resp.text)
		require.Equal(t, 1, resp.ProtoMajor, "HTTP/2 cannot be upgraded to a tunnel")
		require.Equal(t, []string{service, uri}, []string{w.last().service, w.last().uri})
		require.Equal(t, actor.Actor{Kind: actor.Node, ID: nodeID}, w.last().who)
	}
	resp, err := w.agent(client, "GET", "/v1/instances", "")
	require.NoError(t, err)
	require.Equal(t, 404, resp.StatusCode, "the public door is another one")
}

func TestNodesNeedACertificate(t *testing.T) {
	t.Parallel()
	w := setup(t)
	resp, err := w.agent(w.agentClient(), "POST", "/agent/v1/enroll", `{"token":"t"}`)
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
	require.Zero(t, w.last().who, "who enrols is nobody yet")
	n := len(w.seen)

	resp, err = w.agent(w.agentClient(), "POST", "/agent/v1/status", "{}")
	require.NoError(t, err)
	require.Equal(t, "unauthenticated", resp.json(t)["code"])

	for name, cert := range map[string]tls.Certificate{
		"no name":       w.ca.node(x509.ExtKeyUsageClientAuth),
		"two names":     w.ca.node(x509.ExtKeyUsageClientAuth, "spiffe://weir/node/"+nodeID, "spiffe://weir/node/nod_01JH0000000000000000000001"),
		"other domain":  w.ca.node(x509.ExtKeyUsageClientAuth, "spiffe://other/node/"+nodeID),
		"other kind":    w.ca.node(x509.ExtKeyUsageClientAuth, "spiffe://weir/service/tenant"),
		"malformed id":  w.ca.node(x509.ExtKeyUsageClientAuth, "spiffe://weir/node/nod_1"),
		"other scheme":  w.ca.node(x509.ExtKeyUsageClientAuth, "https://weir/node/"+nodeID),
		"path too deep": w.ca.node(x509.ExtKeyUsageClientAuth, "spiffe://weir/node/"+nodeID+"/x"),
	} {
		resp, err := w.agent(w.agentClient(cert), "POST", "/agent/v1/status", "{}")
		require.NoError(t, err, name)
		require.Equal(t, "unauthenticated", resp.json(t)["code"], name)
	}
	stranger := newAuthority(t)
	for name, cert := range map[string]tls.Certificate{
		"other authority": stranger.node(x509.ExtKeyUsageClientAuth, "spiffe://weir/node/"+nodeID),
		"server's usage":  w.ca.node(x509.ExtKeyUsageServerAuth, "spiffe://weir/node/"+nodeID),
	} {
		_, err := w.agent(w.agentClient(cert), "POST", "/agent/v1/enroll", "{}")
		require.Error(t, err, "%s: the handshake fails", name)
	}
	require.Len(t, w.seen, n, "nothing reached a service")
}

func TestRevokedCertificateIsRefusedOnOpenConnections(t *testing.T) {
	t.Parallel()
	w := setup(t)
	cert := w.goodNode()
	client := w.agentClient(cert)
	resp, err := w.agent(client, "POST", "/agent/v1/status", "{}")
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
	conn := w.openTunnel(cert, func(http.ResponseWriter, *http.Request) {})

	w.ca.mu.Lock()
	w.ca.revoked = []object{{"serial": cert.Leaf.SerialNumber.Text(16), "node": nodeID, "not_after": cert.Leaf.NotAfter}}
	w.ca.mu.Unlock()
	require.Eventually(t, func() bool {
		resp, err := w.agent(client, "POST", "/agent/v1/status", "{}")
		return err == nil && resp.StatusCode == 401
	}, 15*time.Second, 50*time.Millisecond)
	<-conn // the tunnel was cut
	resp, err = w.agent(w.agentClient(w.goodNode()), "POST", "/agent/v1/status", "{}")
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode, "a new certificate of the same node is good")
}

// openTunnel connects as the node and serves h on the tunnel; the channel closes when the
// tunnel has ended.
func (w *world) openTunnel(cert tls.Certificate, h http.HandlerFunc) <-chan struct{} {
	w.t.Helper()
	cfg := w.clientTLS(cert)
	cfg.NextProtos = []string{"http/1.1"}
	conn, err := (&tls.Dialer{Config: cfg}).DialContext(w.t.Context(), "tcp", strings.TrimPrefix(w.agents, "https://"))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	ended, err := tunneltest.Node(w.t.Context(), conn, h)
	require.NoError(w.t, err)
	return ended
}
