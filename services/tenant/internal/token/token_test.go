package token_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/tenant/internal/domain"
	"github.com/weirhq/weir/services/tenant/internal/token"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type bundle struct {
	key    ed25519.PrivateKey
	clk    *clock.Fake
	issuer *token.Issuer
	claims domain.AccessClaims
	good   string
	header map[string]any // of good
	body   map[string]any
}

func setup(t *testing.T) *bundle {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	b := &bundle{key: key, clk: clock.NewFake(now)}
	b.issuer = token.New(key, b.clk)
	b.claims = domain.AccessClaims{
		Account: id.New(id.User, now), Session: id.New(id.Session, now), Org: id.New(id.Org, now), Role: actor.Developer, ExpiresAt: now.Add(10 * time.Minute),
	}
	b.good, err = b.issuer.Sign(b.claims, now)
	require.NoError(t, err)
	parts := strings.Split(b.good, ".")
	require.NoError(t, json.Unmarshal(unb64(t, parts[0]), &b.header))
	require.NoError(t, json.Unmarshal(unb64(t, parts[1]), &b.body))
	return b
}

func unb64(t *testing.T, s string) []byte {
	t.Helper()
	out, err := base64.RawURLEncoding.DecodeString(s)
	require.NoError(t, err)
	return out
}

// sign makes a token of the given parts, changed, with any method and key.
func (b *bundle) sign(t *testing.T, method jwt.SigningMethod, key any, change func(header, body map[string]any)) string {
	t.Helper()
	header, body := map[string]any{}, jwt.MapClaims{}
	for k, v := range b.header {
		header[k] = v
	}
	for k, v := range b.body {
		body[k] = v
	}
	header["alg"] = method.Alg()
	if change != nil {
		change(header, body)
	}
	s, err := (&jwt.Token{Header: header, Claims: body, Method: method}).SignedString(key)
	require.NoError(t, err)
	return s
}

// forge is sign with our own key: only the contents are wrong.
func (b *bundle) forge(t *testing.T, change func(header, body map[string]any)) string {
	t.Helper()
	return b.sign(t, jwt.SigningMethodEdDSA, b.key, change)
}

func TestAGoodTokenSaysWhatWasSigned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got, err := b.issuer.Verify(b.good)
	require.NoError(t, err)
	require.True(t, b.claims.ExpiresAt.Equal(got.ExpiresAt))
	got.ExpiresAt = b.claims.ExpiresAt
	require.Equal(t, b.claims, got)
	_, err = b.issuer.Verify(b.forge(t, nil))
	require.NoError(t, err, "the test's own way to sign must make good tokens, or its forgeries prove nothing")

	operator := domain.AccessClaims{Account: b.claims.Account, Session: b.claims.Session, Operator: true, ExpiresAt: b.claims.ExpiresAt}
	s, err := b.issuer.Sign(operator, now)
	require.NoError(t, err)
	got, err = b.issuer.Verify(s)
	require.NoError(t, err)
	require.True(t, got.Operator)

	b.clk.Advance(10*time.Minute + 6*time.Second)
	_, err = b.issuer.Verify(b.good)
	require.ErrorIs(t, err, fault.Unauthenticated, "expired")
}

func TestForgedTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, strange, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public := b.key.Public().(ed25519.PublicKey)
	der, err := x509.MarshalPKIXPublicKey(public)
	require.NoError(t, err)
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	head := func(k string, v any) string { return b.forge(t, func(h, _ map[string]any) { h[k] = v }) }
	body := func(k string, v any) string { return b.forge(t, func(_, c map[string]any) { c[k] = v }) }
	without := func(k string) string { return b.forge(t, func(h, c map[string]any) { delete(h, k); delete(c, k) }) }
	parts := strings.Split(b.good, ".")
	at := func(d time.Duration) int64 { return now.Add(d).Unix() }

	forged := map[string]string{
		"empty": "", "not a token": "hello", "two parts": parts[0] + "." + parts[1], "four parts": b.good + ".x", "spaces": " " + b.good, "too long": strings.Repeat("a", 5000),
		"no signature": parts[0] + "." + parts[1] + ".", "cut signature": b.good[:len(b.good)-4],
		"alg none":                         b.sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"alg none, our words":              b64(`{"alg":"none","typ":"at+jwt"}`) + "." + parts[1] + ".",
		"alg None":                         b64(`{"alg":"None","typ":"at+jwt","kid":"`+b.header["kid"].(string)+`"}`) + "." + parts[1] + "." + parts[2],
		"HS256 with our public key":        b.sign(t, jwt.SigningMethodHS256, []byte(public), nil),
		"HS256 with our public key in PEM": b.sign(t, jwt.SigningMethodHS256, publicPEM, nil),
		"RS256":                            b.sign(t, jwt.SigningMethodRS256, rsaKey, nil), "ES256": b.sign(t, jwt.SigningMethodES256, ecKey, nil),
		"another key, our kid": b.sign(t, jwt.SigningMethodEdDSA, strange, nil),
		"another key with its public half as jwk": b.sign(t, jwt.SigningMethodEdDSA, strange, func(h, _ map[string]any) {
			h["jwk"] = map[string]string{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(strange.Public().(ed25519.PublicKey))}
		}),
		"jku": head("jku", "https://evil.example/keys"), "x5u": head("x5u", "https://evil.example/cert"), "x5c": head("x5c", []string{"x"}), "crit": head("crit", []string{"exp"}),
		"unknown kid": head("kid", "abc"), "kid as a path": head("kid", "../../dev/null"), "kid as SQL": head("kid", "' OR 1=1 --"), "kid as a list": head("kid", []string{"a"}), "no kid": without("kid"),
		"wrong typ": head("typ", "JWT"), "typ of the internal token": head("typ", "weir-internal+jwt"), "no typ": without("typ"),
		"another audience": body("aud", "stripe"), "no audience": without("aud"), "another issuer": body("iss", "weir-gateway"), "no issuer": without("iss"),
		"expired": body("exp", at(-61*time.Second)), "no expiry": without("exp"), "expiry as text": body("exp", "never"), "not yet": body("nbf", at(61*time.Second)),
		"issued in the future": body("iat", at(61*time.Second)), "no iat": without("iat"), "no nbf": without("nbf"),
		"no subject": without("sub"), "a key as subject": body("sub", id.New(id.APIKey, now)), "subject as SQL": body("sub", "usr_' OR 1=1 --"),
		"no session": without("sid"), "malformed session": body("sid", "ses_1"), "no org": without("org"), "malformed org": body("org", "org_1"),
		"another environment": b.sign(t, jwt.SigningMethodEdDSA, strange, func(h, _ map[string]any) { h["kid"] = "other-environment" }),
		"changed body":        parts[0] + "." + b64(`{"sub":"`+b.claims.Account+`"}`) + "." + parts[2],
		"padded":              parts[0] + "=." + parts[1] + "." + parts[2],
	}
	require.GreaterOrEqual(t, len(forged), 40)
	for name, s := range forged {
		_, err := b.issuer.Verify(s)
		require.ErrorIs(t, err, fault.Unauthenticated, name)
	}
}

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func FuzzVerify(f *testing.F) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(f, err)
	i := token.New(key, clock.NewFake(now))
	good, err := i.Sign(domain.AccessClaims{Account: id.New(id.User, now), Session: id.New(id.Session, now), Operator: true, ExpiresAt: now.Add(time.Minute)}, now)
	require.NoError(f, err)
	f.Add(good)
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := i.Verify(s); err == nil {
			require.Equal(t, good, s)
		}
	})
}
