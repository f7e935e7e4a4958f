package ca

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/url"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

const (
	nodeLife   = 24 * time.Hour
	serverLife = 24 * time.Hour
)

// Node certifies the key of csrPEM as that node's. Names in the request are ignored.
func (a *Authority) Node(csrPEM, node string) (domain.Certificate, error) {
	csr, err := request(csrPEM)
	if err != nil {
		return domain.Certificate{}, err
	}
	return a.sign(csr, &x509.Certificate{
		Subject: pkix.Name{CommonName: node}, URIs: []*url.URL{NodeURI(node)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, nodeLife)
}

// NodeURI is a node's name in certificates.
func NodeURI(node string) *url.URL {
	return &url.URL{Scheme: "spiffe", Host: "weir", Path: "/node/" + node}
}

// Server certifies the key, the host names and the addresses of csrPEM. The PEM is the
// chain that the server presents: machines that join know only the authority's hash.
func (a *Authority) Server(csrPEM string) (domain.Certificate, error) {
	csr, err := request(csrPEM)
	if err != nil {
		return domain.Certificate{}, err
	}
	if len(csr.DNSNames)+len(csr.IPAddresses) == 0 || len(csr.URIs)+len(csr.EmailAddresses) > 0 {
		return domain.Certificate{}, fault.InvalidField("csr_pem", "must name host names or addresses, and nothing else")
	}
	c, err := a.sign(csr, &x509.Certificate{
		Subject: pkix.Name{CommonName: "Weir agents' door"}, DNSNames: csr.DNSNames, IPAddresses: csr.IPAddresses,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, serverLife)
	c.PEM += a.pem
	return c, err
}

// request reads a certificate request and makes sure that its sender holds the key.
func request(csrPEM string) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode([]byte(csrPEM))
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, fault.InvalidField("csr_pem", "must be a certificate request in PEM")
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, badRequest("must be a certificate request in PEM", err)
	}
	if err := csr.CheckSignature(); err != nil {
		return nil, badRequest("must be signed with its own key", err)
	}
	switch key := csr.PublicKey.(type) {
	case ed25519.PublicKey:
		return csr, nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return csr, nil
		}
	}
	return nil, fault.InvalidField("csr_pem", "must be of an Ed25519 or ECDSA P-256 key")
}

func badRequest(message string, cause error) error {
	f := fault.InvalidField("csr_pem", message)
	f.Cause = cause
	return f
}

// sign completes the template. The life is counted from a start a little in the past, so
// that a node whose clock is behind can use it at once.
func (a *Authority) sign(csr *x509.CertificateRequest, template *x509.Certificate, life time.Duration) (domain.Certificate, error) {
	serial, err := newSerial()
	if err != nil {
		return domain.Certificate{}, fmt.Errorf("draw a serial number: %w", err)
	}
	template.SerialNumber = serial
	template.NotBefore = a.clk.Now().Add(-skew).UTC().Truncate(time.Second)
	template.NotAfter = template.NotBefore.Add(life)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, csr.PublicKey, a.key)
	if err != nil {
		return domain.Certificate{}, fmt.Errorf("sign: %w", err)
	}
	return domain.Certificate{Serial: serial.Text(16), PEM: encode(der), NotBefore: template.NotBefore, NotAfter: template.NotAfter}, nil
}
