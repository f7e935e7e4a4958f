package ca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
)

const (
	fileName = "agents-ca.pem" // certificate and key in one file: it is whole or not there
	life     = 10 * 365 * 24 * time.Hour
	// skew is how far a node's clock may be behind and still find its certificate valid.
	skew = 5 * time.Minute
)

// Authority signs with the agents' CA.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  string
	clk  clock.Clock
}

// LoadOrCreate returns the authority kept in dir, and makes it on first use.
func LoadOrCreate(dir string, clk clock.Clock) (*Authority, error) {
	path := filepath.Join(dir, fileName)
	a, err := load(path, clk)
	if !errors.Is(err, fs.ErrNotExist) {
		return a, err
	}
	content, err := create(clk.Now())
	if err != nil {
		return nil, fmt.Errorf("make the agents' authority: %w", err)
	}
	if err := save(path, content); err != nil {
		return nil, fmt.Errorf("save the agents' authority: %w", err)
	}
	return load(path, clk) // whoever came first wins
}

func create(now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Weir agents"},
		NotBefore: now.Add(-skew), NotAfter: now.Add(life),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...), nil
}

// save writes the whole file before it gets its name, and never replaces one.
func save(path string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".ca-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(content)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func load(path string, clk clock.Clock) (*Authority, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("load the agents' authority: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("load the agents' authority: %s can be read by others (mode %o); set it to 0600", path, info.Mode().Perm())
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load the agents' authority: %w", err)
	}
	a := &Authority{clk: clk}
	if a.cert, a.key, err = parse(content); err != nil {
		return nil, fmt.Errorf("load the agents' authority: %s: %w", path, err)
	}
	a.pem = encode(a.cert.Raw)
	return a, nil
}

func parse(content []byte) (*x509.Certificate, crypto.Signer, error) {
	certBlock, rest := pem.Decode(content)
	keyBlock, _ := pem.Decode(rest)
	if certBlock == nil || keyBlock == nil {
		return nil, nil, errors.New("is not a certificate and a key in PEM")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(cert.PublicKey) {
		return nil, nil, errors.New("the key is not the certificate's")
	}
	return cert, key, nil
}

// PEM is the authority's own certificate.
func (a *Authority) PEM() string { return a.pem }

// Pin is the hash by which a machine that joins knows the authority.
func (a *Authority) Pin() string {
	sum := sha256.Sum256(a.cert.Raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func encode(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return n.Add(n, big.NewInt(1)), nil // zero is not a serial number
}
