package db

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
)

// The kinds of roles that each schema has.
const (
	RoleOwner = "owner"
	RoleAPI   = "api"
	RoleWork  = "work"
)

// Options names the roles and derives their passwords.
type Options struct {
	// Prefix stands in every role name, because roles belong to the whole PostgreSQL server
	// and two installations may share one.
	Prefix string
	// Secret derives each role's password.
	Secret []byte
}

var prefixShape = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

func (o Options) validate() error {
	if !prefixShape.MatchString(o.Prefix) {
		return fmt.Errorf("role prefix %q must be 1 to 31 lower-case letters, digits and underscores, a letter first", o.Prefix)
	}
	if len(o.Secret) < 16 {
		return errors.New("the database secret must have at least 16 bytes")
	}
	return nil
}

// RoleName is the name of a schema's role of the given kind.
func RoleName(prefix, schema, kind string) string {
	return "weir_" + prefix + "_" + schema + "_" + kind
}

// Password derives a role's password.
func Password(secret []byte, role string) string {
	return base64.RawURLEncoding.EncodeToString(sum(secret, role))
}

// scramIterations is PostgreSQL's own default.
const scramIterations = 4096

// verifier is what PostgreSQL stores for a role's password. Sending it instead of the
// password keeps the password out of the server's log. Its salt is derived as well, so
// setting it again changes nothing.
func verifier(secret []byte, role string) (string, error) {
	salt := sum(secret, "salt:"+role)[:16]
	salted, err := pbkdf2.Key(sha256.New, Password(secret, role), salt, scramIterations, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("derive the password of %s: %w", role, err)
	}
	stored := sha256.Sum256(sum(salted, "Client Key"))
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", scramIterations, b64(salt), b64(stored[:]), b64(sum(salted, "Server Key"))), nil
}

func sum(key []byte, message string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(message))
	return m.Sum(nil)
}
