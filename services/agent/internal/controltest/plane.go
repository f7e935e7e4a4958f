package controltest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/agentapi"
)

// Token is the join token that is accepted, once per node.
const Token = "wj_test"

// Plane is a control plane.
type Plane struct {
	URL string
	Pin string
	Now func() time.Time
	// CertLife is the life of the certificates it gives; a day unless changed.
	CertLife time.Duration

	t      testing.TB
	key    *ecdsa.PrivateKey
	ca     *x509.Certificate
	server *http.Server
	addr   string

	mu        sync.Mutex
	desired   agentapi.Desired
	changed   chan struct{}
	reports   []agentapi.Report
	statuses  []agentapi.NodeStatus
	observed  map[string]agentapi.Observed
	calls     []string
	enrolled  int
	renewed   int
	farewells int
	tunnel    http.RoundTripper
	refuse    bool // reports are answered 503
	keep      bool // nothing is acknowledged
}

// New starts one. It speaks until the test ends, or Stop.
func New(t testing.TB, now func() time.Time) *Plane {
	t.Helper()
	p := &Plane{t: t, Now: now, CertLife: 24 * time.Hour, observed: map[string]agentapi.Observed{}, changed: make(chan struct{}),
		desired: agentapi.Desired{Incarnation: "inc-1", Members: []agentapi.DesiredMember{}}}
	var err error
	p.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der := p.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotAfter: now().AddDate(10, 0, 0)}, nil, &p.key.PublicKey)
	p.ca, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	sum := sha256.Sum256(der)
	p.Pin = "sha256:" + hex.EncodeToString(sum[:])
	p.Start()
	t.Cleanup(p.Stop)
	return p
}

func (p *Plane) sign(template, parent *x509.Certificate, public any) []byte {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(p.t, err)
	template.SerialNumber, template.NotBefore = serial, p.Now()
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, p.key)
	require.NoError(p.t, err)
	return der
}

// CAPEM is the CA's certificate.
func (p *Plane) CAPEM() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.ca.Raw}))
}

// Start opens the door, again at the same address after Stop.
func (p *Plane) Start() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(p.t, err)
	leaf := p.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "door"}, NotAfter: p.Now().AddDate(10, 0, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, p.ca, &key.PublicKey)
	roots := x509.NewCertPool()
	roots.AddCert(p.ca)
	if p.addr == "" {
		p.addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", p.addr)
	require.NoError(p.t, err)
	p.addr = l.Addr().String()
	p.URL = "https://" + p.addr
	p.server = &http.Server{Handler: p.routes(), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute,
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}}
	config := &tls.Config{MinVersion: tls.VersionTLS13, Time: p.Now, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: roots,
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf, p.ca.Raw}, PrivateKey: key}}}
	go func() { _ = p.server.Serve(tls.NewListener(l, config)) }()
}

// Stop closes the door and every connection through it.
func (p *Plane) Stop() {
	p.mu.Lock()
	if c, ok := p.tunnel.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	p.tunnel = nil
	p.mu.Unlock()
	_ = p.server.Close()
}

// Want replaces the desired state by a newer one.
func (p *Plane) Want(members ...agentapi.DesiredMember) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.desired.Generation++
	p.set(members)
}

// Restore is a control plane restored from a backup: a new incarnation that starts counting anew.
func (p *Plane) Restore(incarnation string, members ...agentapi.DesiredMember) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.desired.Incarnation, p.desired.Generation = incarnation, 1
	p.set(members)
}

func (p *Plane) set(members []agentapi.DesiredMember) {
	p.desired.Members = append([]agentapi.DesiredMember{}, members...)
	close(p.changed)
	p.changed = make(chan struct{})
}

// Refuse makes it answer reports with 503, or not any more.
func (p *Plane) Refuse(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = yes
}

// Keep makes it acknowledge nothing.
func (p *Plane) Keep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep = true
}

// Observed is what was last reported of a member.
func (p *Plane) Observed(member string) agentapi.Observed {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.observed[member]
}

// Reports lists every report.
func (p *Plane) Reports() []agentapi.Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]agentapi.Report(nil), p.reports...)
}

// Statuses lists every status.
func (p *Plane) Statuses() []agentapi.NodeStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]agentapi.NodeStatus(nil), p.statuses...)
}

// Calls lists what was called, in order.
func (p *Plane) Calls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.calls...)
}

// Counts tells how often nodes enrolled, renewed and said farewell.
func (p *Plane) Counts() (enrolled, renewed, farewells int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.enrolled, p.renewed, p.farewells
}

// Await waits until a member is reported in a state.
func (p *Plane) Await(member string, state agentapi.ObservedState) agentapi.Observed {
	p.t.Helper()
	p.Eventually(func() bool { return p.Observed(member).State == state }, func() string {
		return fmt.Sprintf("%s should be %s and is %+v", member, state, p.Observed(member))
	})
	return p.Observed(member)
}

// Eventually polls a condition for half a minute.
func (p *Plane) Eventually(ok func() bool, why func() string) {
	p.t.Helper()
	deadline := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			p.t.Fatal(why())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
