package authn

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
)

const (
	// Lifetime is how long an internal token is good.
	Lifetime = 60 * time.Second

	issuer    = "weir-gateway"
	tokenType = "weir-internal+jwt"
	leeway    = 2 * time.Second
)

// claims is what an internal token says.
type claims struct {
	jwt.RegisteredClaims
	Kind     actor.Kind `json:"kind"`
	Org      string     `json:"org,omitempty"`
	Project  string     `json:"prj,omitempty"`
	Role     actor.Role `json:"role,omitempty"`
	Operator bool       `json:"op,omitempty"`
	Session  string     `json:"ses,omitempty"`
}

// Minter makes internal tokens. Only the gateway holds one.
type Minter struct {
	key ed25519.PrivateKey
	kid string
	clk clock.Clock
}

// NewMinter returns a minter that signs with key.
func NewMinter(key ed25519.PrivateKey, clk clock.Clock) *Minter {
	return &Minter{key: key, kid: keyID(key.Public().(ed25519.PublicKey)), clk: clk}
}

// Mint returns a token that lets a act at the service named aud for Lifetime.
func (m *Minter) Mint(aud string, a actor.Actor) (string, error) {
	now := m.clk.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Subject: a.ID, Audience: jwt.ClaimStrings{aud},
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(Lifetime)),
		},
		Kind: a.Kind, Org: a.Org, Project: a.Project, Role: a.Role, Operator: a.Operator, Session: a.Session,
	})
	t.Header["typ"], t.Header["kid"] = tokenType, m.kid
	s, err := t.SignedString(m.key)
	if err != nil {
		return "", fmt.Errorf("sign internal token: %w", err)
	}
	return s, nil
}

// Verifier checks internal tokens for one service.
type Verifier struct {
	key    ed25519.PublicKey
	kid    string
	parser *jwt.Parser
}

// NewVerifier returns a verifier of tokens signed by the gateway's key for the service aud.
func NewVerifier(pub ed25519.PublicKey, aud string, clk clock.Clock) *Verifier {
	return &Verifier{key: pub, kid: keyID(pub), parser: jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithIssuer(issuer), jwt.WithAudience(aud), jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithLeeway(leeway), jwt.WithTimeFunc(clk.Now), jwt.WithStrictDecoding(),
	)}
}

// Verify returns the actor a token speaks for. Whatever is wrong with it, the answer is
// the same unauthenticated fault; the reason is in its cause.
func (v *Verifier) Verify(token string) (actor.Actor, error) {
	var c claims
	t, err := v.parser.ParseWithClaims(token, &c, v.keyFor)
	if err == nil && !t.Valid {
		err = jwt.ErrTokenUnverifiable
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return actor.Actor{}, fault.Wrap(fault.Unauthenticated, "The credential is not valid.", err)
	}
	return actor.Actor{Kind: c.Kind, ID: c.Subject, Org: c.Org, Project: c.Project, Role: c.Role, Operator: c.Operator, Session: c.Session}, nil
}

// keyFor accepts exactly the header that Mint writes.
func (v *Verifier) keyFor(t *jwt.Token) (any, error) {
	for h := range t.Header {
		switch h {
		case "alg", "typ", "kid":
		default:
			return nil, fmt.Errorf("unexpected header %q", h)
		}
	}
	if t.Header["typ"] != tokenType {
		return nil, fmt.Errorf("type is %v", t.Header["typ"])
	}
	if t.Header["kid"] != v.kid {
		return nil, fmt.Errorf("unknown key id %v", t.Header["kid"])
	}
	return v.key, nil
}

// check holds the claims together: who acts must be complete for its kind.
func (c *claims) check() error {
	if c.IssuedAt == nil || c.ExpiresAt.Sub(c.IssuedAt.Time) > Lifetime {
		return fmt.Errorf("lives longer than %s", Lifetime)
	}
	if c.Subject == "" {
		return fmt.Errorf("no subject")
	}
	switch c.Kind {
	case actor.User, actor.APIKey:
		if c.Org == "" && !c.Operator {
			return fmt.Errorf("a %s without an org", c.Kind)
		}
		if (c.Org != "" || c.Role != "") && !c.Role.Valid() {
			return fmt.Errorf("unknown role %q", c.Role)
		}
	case actor.Node:
		if c.Org != "" || c.Role != "" || c.Operator {
			return fmt.Errorf("a node with an org or a role")
		}
	default:
		return fmt.Errorf("unknown kind %q", c.Kind)
	}
	return nil
}

// keyID names a key by its hash, so that a rotated key is told apart.
func keyID(pub ed25519.PublicKey) string {
	sum := sha256.Sum256(pub)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}
