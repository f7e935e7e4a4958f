package link

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Pin is the hash of the cell's CA certificate, `sha256:<hex of its DER>`.
type Pin [sha256.Size]byte

// ParsePin reads a pin.
func ParsePin(s string) (Pin, error) {
	var p Pin
	digits, ok := strings.CutPrefix(s, "sha256:")
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != len(p) {
		return p, errors.New("the CA pin must look like sha256: and 64 hexadecimal digits")
	}
	copy(p[:], raw)
	return p, nil
}

func (p Pin) matches(der []byte) bool {
	sum := sha256.Sum256(der)
	return subtle.ConstantTimeCompare(sum[:], p[:]) == 1
}

// matchesPEM reports whether a PEM text is the one pinned certificate.
func (p Pin) matchesPEM(text string) bool {
	block, rest := pem.Decode([]byte(text))
	return block != nil && len(strings.TrimSpace(string(rest))) == 0 && p.matches(block.Bytes)
}

// serverName is the host that a server's certificate must name.
func serverName(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return "", fmt.Errorf("the server must look like https://HOST:8443, not %q", server)
	}
	return u.Hostname(), nil
}

// pinnedTLS trusts a chain that ends in the pinned certificate, which the server must send along.
func pinnedTLS(server string, p Pin, now func() time.Time) (*tls.Config, error) {
	host, err := serverName(server)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: host, NextProtos: []string{"http/1.1"},
		InsecureSkipVerify: true, // the chain is verified below, against the pin instead of the system's roots
		VerifyConnection: func(s tls.ConnectionState) error {
			roots, between := x509.NewCertPool(), x509.NewCertPool()
			found := false
			for _, c := range s.PeerCertificates {
				if p.matches(c.Raw) {
					roots.AddCert(c)
					found = true
					continue
				}
				between.AddCert(c)
			}
			if !found {
				return errors.New("the server does not show the CA that the join line names")
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: host, CurrentTime: now(),
				KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
			return err
		},
	}, nil
}

// nodeTLS speaks as the node that identity names at the moment of each handshake.
func nodeTLS(server string, identity func() Identity, now func() time.Time) (*tls.Config, error) {
	host, err := serverName(server)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: host, NextProtos: []string{"http/1.1"}, RootCAs: identity().CA, Time: now,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c := identity().Cert
			return &c, nil
		},
	}, nil
}
