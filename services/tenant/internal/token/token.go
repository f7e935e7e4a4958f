// Package token signs and verifies access tokens: short-lived EdDSA JWTs that name a
// session. They are checked narrowly (RFC 8725): one algorithm, one key, one issuer, one
// audience, one type, and no header that could bring a key along.
package token

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

const (
	issuer   = "weir-tenant"
	audience = "weir"
	typ      = "at+jwt" // RFC 9068

	maxLength = 4096
	// leeway allows for clocks of several processes that differ a little.
	leeway = 5 * time.Second
)

// Issuer holds the signing key.
type Issuer struct {
	key    ed25519.PrivateKey
	kid    string
	parser *jwt.Parser
}

var _ domain.Tokens = (*Issuer)(nil)

// New returns an issuer whose key id is derived from the key.
func New(key ed25519.PrivateKey, clk clock.Clock) *Issuer {
	sum := sha256.Sum256(key.Public().(ed25519.PublicKey))
	return &Issuer{
		key: key,
		kid: base64.RawURLEncoding.EncodeToString(sum[:12]),
		parser: jwt.NewParser(jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithIssuer(issuer), jwt.WithAudience(audience),
			jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(clk.Now), jwt.WithStrictDecoding()),
	}
}

// claims is the token's body. Role, org and operator tell a client what it can do; the
// service itself decides by the session's row.
type claims struct {
	jwt.RegisteredClaims
	Session  string     `json:"sid"`
	Org      string     `json:"org,omitempty"`
	Role     actor.Role `json:"role,omitempty"`
	Operator bool       `json:"operator,omitempty"`
}

// Validate is called by the parser after the registered claims have passed.
func (c *claims) Validate() error {
	switch {
	case !id.Valid(id.User, c.Subject) || !id.Valid(id.Session, c.Session):
		return errors.New("token: subject or session is malformed")
	case c.NotBefore == nil || c.IssuedAt == nil:
		return errors.New("token: iat or nbf is missing")
	case c.Org == "" && !c.Operator:
		return errors.New("token: org is missing")
	case c.Org != "" && !id.Valid(id.Org, c.Org):
		return errors.New("token: org is malformed")
	}
	return nil
}

// Sign returns a token that says c.
func (i *Issuer) Sign(c domain.AccessClaims, issuedAt time.Time) (string, error) {
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, &claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Subject: c.Account, Audience: jwt.ClaimStrings{audience}, ID: id.New(id.Token, issuedAt),
			IssuedAt: jwt.NewNumericDate(issuedAt), NotBefore: jwt.NewNumericDate(issuedAt), ExpiresAt: jwt.NewNumericDate(c.ExpiresAt),
		},
		Session: c.Session, Org: c.Org, Role: c.Role, Operator: c.Operator,
	})
	t.Header["kid"], t.Header["typ"] = i.kid, typ
	s, err := t.SignedString(i.key)
	if err != nil {
		return "", fmt.Errorf("sign an access token: %w", err)
	}
	return s, nil
}

// Verify reads a token that this issuer signed and that is valid now.
func (i *Issuer) Verify(token string) (domain.AccessClaims, error) {
	var c claims
	if len(token) > maxLength {
		return domain.AccessClaims{}, refused(errors.New("token: too long"))
	}
	if _, err := i.parser.ParseWithClaims(token, &c, i.keyFor); err != nil {
		return domain.AccessClaims{}, refused(err)
	}
	return domain.AccessClaims{Account: c.Subject, Session: c.Session, Org: c.Org, Role: c.Role, Operator: c.Operator, ExpiresAt: c.ExpiresAt.Time}, nil
}

// keyFor gives out the key only for a header that is exactly what Sign writes: jwk, jku,
// x5u, crit and whatever else might steer verification is refused unread.
func (i *Issuer) keyFor(t *jwt.Token) (any, error) {
	if len(t.Header) != 3 || t.Header["kid"] != i.kid || t.Header["typ"] != typ || t.Header["alg"] != "EdDSA" {
		return nil, errors.New("token: the header is not one of ours")
	}
	return i.key.Public(), nil
}

func refused(cause error) error {
	return fault.Wrap(fault.Unauthenticated, "The access token is not valid.", cause)
}
