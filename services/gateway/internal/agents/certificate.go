package agents

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
)

const (
	trustEvery = 5 * time.Second // how late a revocation may be
	retryEvery = 10 * time.Second
	startEvery = 200 * time.Millisecond
	startWait  = 15 * time.Second
)

// identity is what the door shows to nodes.
type identity struct {
	cert  tls.Certificate
	renew time.Time
}

// TLS is the door's side of handshakes: HTTP/1.1 only, for HTTP/2 connections cannot be
// upgraded to tunnels; no resumption, for tickets outlive revocations.
func (d *Door) TLS() *tls.Config {
	base := &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, SessionTicketsDisabled: true,
		ClientAuth: tls.VerifyClientCertIfGiven, Time: d.Clock.Now,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if i := d.identity.Load(); i != nil {
				return &i.cert, nil
			}
			return nil, errors.New("the door has no certificate yet")
		},
	}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		t := d.trust.Load()
		if t == nil {
			return nil, errors.New("the door knows no authority yet")
		}
		c := base.Clone()
		c.ClientCAs = t.pool
		return c, nil
	}
	return base
}

// Prepare gets the authority and the first certificate, and gives inventory a moment to
// come up. It waits by the machine's clock, whatever clock the door lives by.
func (d *Door) Prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		err := d.learnTrust(ctx)
		if err == nil {
			err = d.obtain(ctx)
		}
		if err == nil {
			return nil
		}
		if clock.Sleep(ctx, clock.Real{}, startEvery) != nil {
			return fmt.Errorf("certificate of the agents' door: %w", err)
		}
	}
}

// Ready reports why nodes cannot be served.
func (d *Door) Ready() error {
	if i := d.identity.Load(); i == nil || d.Clock.Now().After(i.cert.Leaf.NotAfter) {
		return errors.New("the agents' door has no valid certificate")
	}
	return nil
}

// Renew replaces the certificate at two thirds of its life, until ctx ends.
func (d *Door) Renew(ctx context.Context) error {
	for {
		i := d.identity.Load()
		if clock.Sleep(ctx, d.Clock, i.renew.Sub(d.Clock.Now())) != nil {
			return nil
		}
		for d.obtain(ctx) != nil {
			d.Log.WarnContext(ctx, "certificate of the agents' door not renewed", "until", i.cert.Leaf.NotAfter)
			if clock.Sleep(ctx, d.Clock, retryEvery) != nil {
				return nil
			}
		}
	}
}

// obtain makes a new key and has it certified.
func (d *Door) obtain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	template := &x509.CertificateRequest{}
	for _, h := range d.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return fmt.Errorf("make a certificate request: %w", err)
	}
	answer, err := d.Inventory.ServerCertificate(ctx, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})))
	if err != nil {
		return fmt.Errorf("ask for a certificate: %w", err)
	}
	cert := tls.Certificate{PrivateKey: key}
	for rest := []byte(answer.CertificatePEM); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert.Certificate = append(cert.Certificate, block.Bytes)
	}
	if len(cert.Certificate) == 0 {
		return errors.New("the certificate is not PEM")
	}
	if cert.Leaf, err = x509.ParseCertificate(cert.Certificate[0]); err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	life := cert.Leaf.NotAfter.Sub(cert.Leaf.NotBefore)
	d.identity.Store(&identity{cert: cert, renew: cert.Leaf.NotAfter.Add(-life / 3)})
	return nil
}

// Watch keeps up with the authority and with revocations until ctx ends. While inventory
// cannot be asked, what was known last stays true.
func (d *Door) Watch(ctx context.Context) error {
	for clock.Sleep(ctx, d.Clock, trustEvery) == nil {
		if err := d.learnTrust(ctx); err != nil && ctx.Err() == nil {
			d.Log.WarnContext(ctx, "revocations not read", "error", err.Error())
		}
	}
	return nil
}

func (d *Door) learnTrust(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ca, err := d.Inventory.Authority(ctx)
	if err != nil {
		return fmt.Errorf("ask for the authority: %w", err)
	}
	t := &trust{pool: x509.NewCertPool(), revoked: map[string]bool{}}
	if !t.pool.AppendCertsFromPEM([]byte(ca.CAPEM)) {
		return errors.New("the authority's certificate is not PEM")
	}
	before := d.trust.Load()
	for _, r := range ca.Revoked {
		t.revoked[r.Serial] = true
	}
	d.trust.Store(t)
	for _, r := range ca.Revoked {
		if before == nil || !before.revoked[r.Serial] {
			d.Tunnels.Drop(r.Node) // with a good certificate it comes back at once
		}
	}
	return nil
}
