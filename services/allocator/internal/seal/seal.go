// Package seal owns how environments are kept secret in the database: AES-256-GCM under a
// key that this deployment made for itself, bound to the instance they belong to.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// Box seals and opens with one key.
type Box struct{ aead cipher.AEAD }

var _ domain.Sealer = Box{}

const keyFile, keySize = "allocator-env.key", 32

// version stands before each sealed text, so that another key or cipher can follow.
const version = 1

// Load reads the key in the folder of secrets, or makes one.
func Load(dir string) (Box, error) {
	path := filepath.Join(dir, keyFile)
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = create(path)
	}
	switch {
	case err != nil:
		return Box{}, fmt.Errorf("key of the environments: %w", err)
	case len(key) != keySize:
		return Box{}, fmt.Errorf("key of the environments: %s has %d bytes, not %d", path, len(key), keySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return Box{}, fmt.Errorf("key of the environments: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return Box{}, fmt.Errorf("key of the environments: %w", err)
	}
	return Box{aead}, nil
}

// create writes a new key whole or not at all; of two processes the first wins.
func create(path string) ([]byte, error) {
	key := make([]byte, keySize)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), keyFile+".*") // 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(key)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.ReadFile(path)
}

// Seal implements domain.Sealer. An empty environment stays nothing.
func (b Box) Seal(instance string, env map[string]string) ([]byte, error) {
	if len(env) == 0 {
		return nil, nil
	}
	plain, err := json.Marshal(env)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	sealed := make([]byte, 1+b.aead.NonceSize(), 1+b.aead.NonceSize()+len(plain)+b.aead.Overhead())
	sealed[0] = version
	if _, err := rand.Read(sealed[1:]); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return b.aead.Seal(sealed, sealed[1:], plain, []byte(instance)), nil
}

// Open implements domain.Sealer.
func (b Box) Open(instance string, sealed []byte) (map[string]string, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	n := 1 + b.aead.NonceSize()
	if len(sealed) < n || sealed[0] != version {
		return nil, errors.New("open: not sealed by us")
	}
	plain, err := b.aead.Open(nil, sealed[1:n], sealed[n:], []byte(instance))
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	var env map[string]string
	if err := json.Unmarshal(plain, &env); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	return env, nil
}
