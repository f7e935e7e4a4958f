package agents

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/inventorymeshapi"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/gateway/internal/tunnel"
)

// issuer is an authority that issues certificates of 24 hours by the fake clock.
type issuer struct {
	clk    clock.Clock
	key    *ecdsa.PrivateKey
	cert   *x509.Certificate
	pem    string
	issued atomic.Int64
	fails  atomic.Bool
	hosts  atomic.Pointer[x509.CertificateRequest]
}

func newIssuer(t *testing.T, clk clock.Clock) *issuer {
	t.Helper()
	i := &issuer{clk: clk}
	var err error
	i.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: clk.Now(), NotAfter: clk.Now().Add(1000 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, &i.key.PublicKey, i.key)
	require.NoError(t, err)
	i.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	i.pem = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return i
}

func (i *issuer) Authority(context.Context) (*inventorymeshapi.CA, error) {
	if i.fails.Load() {
		return nil, errors.New("inventory is away")
	}
	return &inventorymeshapi.CA{CAPEM: i.pem}, nil
}

func (i *issuer) ServerCertificate(_ context.Context, csrPEM string) (*inventorymeshapi.ServerCertificate, error) {
	if i.fails.Load() {
		return nil, errors.New("inventory is away")
	}
	block, _ := pem.Decode([]byte(csrPEM))
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	i.hosts.Store(csr)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(100 + i.issued.Add(1)), NotBefore: i.clk.Now(), NotAfter: i.clk.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, leaf, i.cert, csr.PublicKey, i.key)
	if err != nil {
		return nil, err
	}
	return &inventorymeshapi.ServerCertificate{CertificatePEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) + i.pem, CAPEM: i.pem}, nil
}

func TestDoorRenewsItsCertificate(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	log := slog.New(slog.DiscardHandler)
	inv := newIssuer(t, clk)
	d := &Door{Options: Options{Hosts: []string{"localhost", "127.0.0.1"}, Clock: clk, Log: log, Inventory: inv, Tunnels: tunnel.NewRegistry(clk, log)}}
	require.Error(t, d.Ready())
	require.NoError(t, d.Prepare(t.Context()))
	require.NoError(t, d.Ready())
	require.Equal(t, []string{"localhost"}, inv.hosts.Load().DNSNames)
	require.Len(t, inv.hosts.Load().IPAddresses, 1)
	serial := func() int64 {
		cert, err := d.TLS().GetCertificate(nil)
		require.NoError(t, err)
		require.Len(t, cert.Certificate, 2, "the chain reaches the authority, whose hash is pinned")
		return cert.Leaf.SerialNumber.Int64()
	}
	first := serial()

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Renew(ctx) }()
	require.NoError(t, clk.AwaitWaiters(t.Context(), 1))
	clk.Advance(16*time.Hour - time.Second)
	require.Equal(t, first, serial(), "not before two thirds of its life")

	inv.fails.Store(true)
	clk.Advance(time.Second)
	require.NoError(t, clk.AwaitWaiters(t.Context(), 1)) // it failed and waits to retry
	require.Equal(t, first, serial())
	require.NoError(t, d.Ready(), "the old one is good for a while")
	inv.fails.Store(false)
	clk.Advance(retryEvery)
	require.NoError(t, clk.AwaitWaiters(t.Context(), 1))
	require.Equal(t, first+1, serial())
	cancel()
	require.NoError(t, <-ended)

	clk.Advance(25 * time.Hour)
	require.Error(t, d.Ready(), "a door with a certificate that ran out is not ready")
}
