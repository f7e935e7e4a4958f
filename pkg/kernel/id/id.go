// Package id owns the typed identifiers of Weir: a short prefix that says what the
// thing is, and 26 Crockford base-32 characters (a ULID: 48 bits of milliseconds, 80
// random bits). Ids sort by creation time, are opaque to users and never reused.
package id

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// Kind is the prefix of an id, without the underscore.
type Kind string

// The kinds of things that carry an id.
const (
	Org      Kind = "org"
	Project  Kind = "prj"
	User     Kind = "usr"
	APIKey   Kind = "key"
	Session  Kind = "ses"
	Pool     Kind = "poo"
	Node     Kind = "nod"
	GPU      Kind = "gpu"
	Instance Kind = "ins"
	Member   Kind = "mem"
	Seat     Kind = "sea"
	Interval Kind = "ivl"
	Price    Kind = "prc"
	Item     Kind = "itm" // an outbox row
	Fault    Kind = "flt" // an injected fault on a simulated node
	Request  Kind = "req"
	Token    Kind = "tok" // a join token's public half
)

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// New mints an id of kind k at instant now.
func New(k Kind, now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	if _, err := rand.Read(b[6:]); err != nil {
		panic(err) // crypto/rand never fails on a supported system
	}
	return string(k) + "_" + encode(b)
}

// Valid reports whether s is a well-formed id of kind k.
func Valid(k Kind, s string) bool {
	rest, ok := strings.CutPrefix(s, string(k)+"_")
	if !ok || len(rest) != 26 || rest[0] > '7' {
		return false
	}
	for i := range len(rest) {
		if strings.IndexByte(alphabet, rest[i]) < 0 {
			return false
		}
	}
	return true
}

// Check is Valid as an error that names the field's expected shape.
func Check(k Kind, s string) error {
	if Valid(k, s) {
		return nil
	}
	return fmt.Errorf("must look like %s_ followed by 26 characters", k)
}

// encode writes 128 bits as 26 base-32 characters, most significant first.
func encode(b [16]byte) string {
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	var out [26]byte
	for i := 25; i >= 0; i-- {
		out[i] = alphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out[:])
}
