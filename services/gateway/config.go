package gateway

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
)

// Config is what the gateway needs beside its environment.
type Config struct {
	// Addr is the public door's address: host:port.
	Addr string
	// AgentAddr is the agents' door's address.
	AgentAddr string
	// AgentHosts are further names and addresses by which nodes reach the agents' door; its
	// certificate carries them beside loopback and the host of AgentAddr.
	AgentHosts []string
	// RateLimit is how many requests a second one credential may make; 0 is without limit.
	RateLimit int
	// Key signs internal tokens; every module verifies them with its public half.
	Key ed25519.PrivateKey
	// Ready asks every module of the process, for /readyz.
	Ready func(context.Context) error
	// Opened hears where the doors really listen, for addresses with port 0. Optional.
	Opened func(public, agents net.Addr)
}

// Validate says everything that is wrong.
func (c Config) Validate() error {
	var errs []error
	for name, addr := range map[string]string{"address": c.Addr, "agents' address": c.AgentAddr} {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			errs = append(errs, fmt.Errorf("the %s %q must be host:port", name, addr))
		}
	}
	if c.RateLimit < 0 {
		errs = append(errs, errors.New("the rate limit must not be negative"))
	}
	if len(c.Key) != ed25519.PrivateKeySize {
		errs = append(errs, errors.New("the key for internal tokens is missing"))
	}
	if c.Ready == nil {
		errs = append(errs, errors.New("the readiness of the process cannot be asked"))
	}
	return errors.Join(errs...)
}

// hosts are the names that the agents' door answers to.
func (c Config) hosts() []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	host, _, _ := net.SplitHostPort(c.AgentAddr)
	for _, h := range append([]string{host}, c.AgentHosts...) {
		if ip := net.ParseIP(h); h != "" && (ip == nil || !ip.IsUnspecified()) && !contains(names, h) {
			names = append(names, h)
		}
	}
	return names
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
