package domain

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"
)

var imageShape = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$`)

// checkImage refuses what is no image reference, and registries inside somebody's network:
// the node that pulls stands where its owner trusts it.
func checkImage(ref string) error {
	if !imageShape.MatchString(ref) || strings.Contains(ref, "//") || strings.HasSuffix(ref, "/") {
		return errors.New("is not an image reference")
	}
	host, _, ok := strings.Cut(ref, "/")
	if !ok || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return nil // no registry named
	}
	host, _, _ = strings.Cut(host, ":")
	if host = strings.TrimSuffix(strings.ToLower(host), "."); internalHost(host) {
		return errors.New("must not name a registry at an internal address")
	}
	return nil
}

var carrierNAT = netip.MustParsePrefix("100.64.0.0/10")

func internalHost(host string) bool {
	for _, suffix := range []string{"localhost", "local", "internal", "lan", "home.arpa"} {
		if host == suffix || strings.HasSuffix(host, "."+suffix) {
			return true
		}
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return !a.IsGlobalUnicast() || a.IsPrivate() || carrierNAT.Contains(a)
	}
	// What some resolvers still read as an address: 127.1, 0x7f.1, 2130706433.
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last == "" || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
}
