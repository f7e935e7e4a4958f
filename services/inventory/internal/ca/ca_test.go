package ca_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/inventory/internal/ca"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func authority(t *testing.T, clk clock.Clock) *ca.Authority {
	t.Helper()
	a, err := ca.LoadOrCreate(t.TempDir(), clk)
	require.NoError(t, err)
	return a
}

func request(t *testing.T, key crypto.Signer, template x509.CertificateRequest) string {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

func ecKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(t, err)
	return key
}

func parse(t *testing.T, chain string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(chain))
	require.NotNil(t, block)
	cert, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return cert
}

func verify(a *ca.Authority, cert *x509.Certificate, at time.Time, use x509.ExtKeyUsage) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(a.PEM()))
	_, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{use}})
	return err
}

// A node's certificate carries the node's name and key, nothing that the request asked for,
// and is good for a client only. Renewed at two thirds, the node never is without one; not
// renewed, it is refused after a day.
func TestNodeCertificateAndItsRenewal(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(start)
	a := authority(t, clk)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	csr := request(t, key, x509.CertificateRequest{Subject: pkix.Name{CommonName: "root"}, DNSNames: []string{"gateway"},
		URIs: []*url.URL{ca.NodeURI("nod_OTHER")}})

	first, err := a.Node(csr, "nod_MINE")
	require.NoError(t, err)
	cert := parse(t, first.PEM)
	require.Equal(t, "nod_MINE", cert.Subject.CommonName)
	require.Empty(t, cert.DNSNames)
	require.Len(t, cert.URIs, 1)
	require.Equal(t, "spiffe://weir/node/nod_MINE", cert.URIs[0].String())
	require.Equal(t, key.Public(), cert.PublicKey)
	require.Equal(t, first.Serial, cert.SerialNumber.Text(16))
	require.LessOrEqual(t, cert.NotAfter.Sub(cert.NotBefore), 24*time.Hour)
	require.Equal(t, cert.NotAfter, first.NotAfter)
	require.NoError(t, verify(a, cert, start, x509.ExtKeyUsageClientAuth))
	require.NoError(t, verify(a, cert, start.Add(-time.Minute), x509.ExtKeyUsageClientAuth), "a node whose clock is behind")
	require.Error(t, verify(a, cert, start, x509.ExtKeyUsageServerAuth))

	clk.Advance(first.NotAfter.Sub(start) * 2 / 3)
	second, err := a.Node(csr, "nod_MINE")
	require.NoError(t, err)
	require.NotEqual(t, first.Serial, second.Serial)
	require.NoError(t, verify(a, cert, clk.Now(), x509.ExtKeyUsageClientAuth), "the old one is good until its end")
	clk.Set(first.NotAfter.Add(time.Second))
	require.Error(t, verify(a, cert, clk.Now(), x509.ExtKeyUsageClientAuth), "expired")
	require.NoError(t, verify(a, parse(t, second.PEM), clk.Now(), x509.ExtKeyUsageClientAuth))
}

func TestServerCertificate(t *testing.T) {
	t.Parallel()
	a := authority(t, clock.NewFake(start))
	key := ecKey(t, elliptic.P256())
	c, err := a.Server(request(t, key, x509.CertificateRequest{DNSNames: []string{"gpu.example.com"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}))
	require.NoError(t, err)
	cert := parse(t, c.PEM)
	require.NoError(t, verify(a, cert, start, x509.ExtKeyUsageServerAuth))
	require.NoError(t, cert.VerifyHostname("127.0.0.1"))
	require.NoError(t, cert.VerifyHostname("gpu.example.com"))
	require.Equal(t, 2, strings.Count(c.PEM, "BEGIN CERTIFICATE"), "the chain, for those who know only the pin")

	_, err = a.Server(request(t, key, x509.CertificateRequest{}))
	require.ErrorIs(t, err, fault.Invalid)
	_, err = a.Server(request(t, key, x509.CertificateRequest{DNSNames: []string{"a"}, URIs: []*url.URL{ca.NodeURI("nod_1")}}))
	require.ErrorIs(t, err, fault.Invalid, "a node's name is no server's")
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	a := authority(t, clock.NewFake(start))
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	broken := request(t, ecKey(t, elliptic.P256()), x509.CertificateRequest{})
	block, _ := pem.Decode([]byte(broken))
	block.Bytes[len(block.Bytes)-1] ^= 1 // the signature
	for name, csr := range map[string]string{
		"empty":           "",
		"not PEM":         "hello",
		"another PEM":     a.PEM(),
		"RSA":             request(t, rsaKey, x509.CertificateRequest{}),
		"another curve":   request(t, ecKey(t, elliptic.P384()), x509.CertificateRequest{}),
		"signed by other": string(pem.EncodeToMemory(block)),
	} {
		_, err := a.Node(csr, "nod_1")
		require.ErrorIs(t, err, fault.Invalid, name)
		require.NotErrorIs(t, err, fault.Internal, name)
	}
}

func TestAuthorityIsMadeOnceAndKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	pins := make([]string, 8)
	for i := range pins {
		wg.Go(func() {
			if a, err := ca.LoadOrCreate(dir, clock.NewFake(start)); err == nil {
				pins[i] = a.Pin()
			}
		})
	}
	wg.Wait()
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", pins[0])
	for _, p := range pins {
		require.Equal(t, pins[0], p)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary files stay")
	path := filepath.Join(dir, entries[0].Name())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())

	require.NoError(t, os.Chmod(path, 0o640))
	_, err = ca.LoadOrCreate(dir, clock.NewFake(start))
	require.ErrorContains(t, err, "can be read by others")
	require.NoError(t, os.WriteFile(path, []byte("junk"), 0o600))
	require.NoError(t, os.Chmod(path, 0o600))
	_, err = ca.LoadOrCreate(dir, clock.NewFake(start))
	require.Error(t, err, "a broken file is not replaced: that would cut every node off")
	_, err = ca.LoadOrCreate(filepath.Join(dir, "missing"), clock.NewFake(start))
	require.Error(t, err)
}
