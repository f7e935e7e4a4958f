package link

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	certFile = "node.pem" // key and certificate, replaced together
	caFile   = "ca.pem"
	idFile   = "node.json"
)

// ErrNotJoined means that this node has no identity yet.
var ErrNotJoined = errors.New("this node has not joined")

// Identity is who this node is.
type Identity struct {
	Node   string
	Server string
	Cert   tls.Certificate
	Leaf   *x509.Certificate
	CA     *x509.CertPool
}

// RenewAt is two thirds into the certificate's life.
func (i Identity) RenewAt() time.Time {
	life := i.Leaf.NotAfter.Sub(i.Leaf.NotBefore)
	return i.Leaf.NotBefore.Add(life * 2 / 3)
}

// Expired reports whether the certificate is of no use any more.
func (i Identity) Expired(now time.Time) bool { return !now.Before(i.Leaf.NotAfter) }

type idRecord struct {
	Node   string `json:"node"`
	Server string `json:"server"`
}

// Load reads the identity kept in dir.
func Load(dir string) (Identity, error) {
	var id Identity
	both, err := os.ReadFile(filepath.Join(dir, certFile))
	if errors.Is(err, fs.ErrNotExist) {
		return id, ErrNotJoined
	}
	if err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	if id.Cert, err = tls.X509KeyPair(both, both); err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	if id.Leaf, err = x509.ParseCertificate(id.Cert.Certificate[0]); err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, caFile))
	if err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	id.CA = x509.NewCertPool()
	if !id.CA.AppendCertsFromPEM(ca) {
		return id, errors.New("read identity: ca.pem holds no certificate")
	}
	data, err := os.ReadFile(filepath.Join(dir, idFile))
	if err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	var rec idRecord
	if err := json.Unmarshal(data, &rec); err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	id.Node, id.Server = rec.Node, rec.Server
	return id, nil
}

// Key is a new private key with the request for its certificate.
type Key struct {
	private *ecdsa.PrivateKey
	CSR     string // PEM
}

// NewKey makes one. It is not on disk before its certificate is.
func NewKey(name string) (*Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, private)
	if err != nil {
		return nil, fmt.Errorf("make certificate request: %w", err)
	}
	return &Key{private, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))}, nil
}

// Save keeps an identity in dir, at once or not at all: the certificate comes last and makes it one.
func Save(dir string, k *Key, node, server, certificatePEM, caPEM string) (Identity, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return Identity{}, fmt.Errorf("keep identity: %w", err)
	}
	both := append([]byte(certificatePEM+"\n"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...)
	if _, err := tls.X509KeyPair(both, both); err != nil {
		return Identity{}, fmt.Errorf("the certificate is not for this node's key: %w", err)
	}
	rec, err := json.Marshal(idRecord{node, server})
	if err != nil {
		return Identity{}, fmt.Errorf("keep identity: %w", err)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{caFile, []byte(caPEM)}, {idFile, rec}, {certFile, both}} {
		if err := writeFile(filepath.Join(dir, f.name), f.data); err != nil {
			return Identity{}, fmt.Errorf("keep identity: %w", err)
		}
	}
	return Load(dir)
}

func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path+".next", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(path+".next", path)
}
