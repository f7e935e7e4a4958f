package agents

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
)

// trust is whom the door believes.
type trust struct {
	pool    *x509.CertPool
	revoked map[string]bool // serial numbers, in lower-case hexadecimal
}

// node returns the node that a request's client certificate names. The handshake proved
// the certificate once; its end and its revocation are looked at on every request, for
// connections live long.
func (d *Door) node(r *http.Request) (actor.Actor, error) {
	cert := leaf(r)
	if cert == nil {
		return actor.Actor{}, fault.New(fault.Unauthenticated, "This call needs the node's client certificate; join first.")
	}
	node, err := d.check(cert)
	if err != nil {
		return actor.Actor{}, fault.Wrap(fault.Unauthenticated, "The client certificate is not valid.", err)
	}
	return actor.Actor{Kind: actor.Node, ID: node}, nil
}

// leaf is the client certificate that the handshake verified, or nil.
func leaf(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
		return nil
	}
	return r.TLS.VerifiedChains[0][0]
}

func (d *Door) check(cert *x509.Certificate) (string, error) {
	now := d.Clock.Now()
	if now.Before(cert.NotBefore) || now.After(cert.NotAfter) {
		return "", fmt.Errorf("good from %s to %s", cert.NotBefore, cert.NotAfter)
	}
	if t := d.trust.Load(); t == nil || t.revoked[cert.SerialNumber.Text(16)] {
		return "", errors.New("revoked")
	}
	return nodeOf(cert)
}

// nodeOf reads spiffe://weir/node/<id>, the certificate's only name.
func nodeOf(cert *x509.Certificate) (string, error) {
	if len(cert.URIs) != 1 {
		return "", fmt.Errorf("%d names", len(cert.URIs))
	}
	u := cert.URIs[0]
	node, ok := strings.CutPrefix(u.Path, "/node/")
	if u.Scheme != "spiffe" || u.Host != "weir" || !ok || !id.Valid(id.Node, node) {
		return "", fmt.Errorf("named %s", u)
	}
	return node, nil
}
