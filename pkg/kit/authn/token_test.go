package authn_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/clock"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newKey(t *testing.T) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return pub, key
}

func TestTokenCarriesTheActor(t *testing.T) {
	t.Parallel()
	pub, key := newKey(t)
	clk := clock.NewFake(start)
	minter, verifier := authn.NewMinter(key, clk), authn.NewVerifier(pub, "allocator", clk)
	for _, a := range []actor.Actor{
		{Kind: actor.User, ID: "usr_1", Org: "org_1", Role: actor.Owner, Session: "ses_1"},
		{Kind: actor.APIKey, ID: "key_1", Org: "org_1", Project: "prj_1", Role: actor.Developer},
		{Kind: actor.User, ID: "usr_2", Operator: true},
		{Kind: actor.User, ID: "usr_2", Operator: true, Org: "org_1", Role: actor.Viewer},
		{Kind: actor.Node, ID: "nod_1"},
	} {
		token, err := minter.Mint("allocator", a)
		require.NoError(t, err)
		got, err := verifier.Verify(token)
		require.NoError(t, err)
		require.Equal(t, a, got)
	}
}

func TestTokenEnds(t *testing.T) {
	t.Parallel()
	pub, key := newKey(t)
	clk := clock.NewFake(start)
	token, err := authn.NewMinter(key, clk).Mint("tenant", actor.Actor{Kind: actor.Node, ID: "nod_1"})
	require.NoError(t, err)
	verifier := authn.NewVerifier(pub, "tenant", clk)
	clk.Advance(authn.Lifetime)
	_, err = verifier.Verify(token)
	require.NoError(t, err, "the leeway covers the hop")
	clk.Advance(3 * time.Second)
	_, err = verifier.Verify(token)
	require.ErrorIs(t, err, fault.Unauthenticated)
}

// forge signs the given header and claims, whatever they say.
func forge(t *testing.T, key ed25519.PrivateKey, header, claims map[string]any) string {
	t.Helper()
	h, err := json.Marshal(header)
	require.NoError(t, err)
	c, err := json.Marshal(claims)
	require.NoError(t, err)
	enc := base64.RawURLEncoding.EncodeToString
	signed := enc(h) + "." + enc(c)
	return signed + "." + enc(ed25519.Sign(key, []byte(signed)))
}

func with(m map[string]any, key string, value any) map[string]any {
	m = maps.Clone(m)
	if value == nil {
		delete(m, key)
	} else {
		m[key] = value
	}
	return m
}

func TestForgedTokens(t *testing.T) {
	t.Parallel()
	pub, key := newKey(t)
	otherPub, otherKey := newKey(t)
	clk := clock.NewFake(start)
	verifier := authn.NewVerifier(pub, "allocator", clk)

	honest, err := authn.NewMinter(key, clk).Mint("allocator", actor.Actor{Kind: actor.User, ID: "usr_1", Org: "org_1", Role: actor.Viewer})
	require.NoError(t, err)
	parts := strings.Split(honest, ".")
	decode := func(s string) (m map[string]any) {
		b, err := base64.RawURLEncoding.DecodeString(s)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &m))
		return m
	}
	header, claims := decode(parts[0]), decode(parts[1])
	_, err = verifier.Verify(forge(t, key, header, claims))
	require.NoError(t, err, "the forge itself works")

	unix := func(d time.Duration) int64 { return start.Add(d).Unix() }
	other, err := authn.NewMinter(otherKey, clk).Mint("allocator", actor.Actor{Kind: actor.Node, ID: "nod_1"})
	require.NoError(t, err)
	hs := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims(claims))
	hs.Header["typ"], hs.Header["kid"] = header["typ"], header["kid"]
	hmac, err := hs.SignedString([]byte(pub))
	require.NoError(t, err)
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims(claims)).SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)
	jwk := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(otherPub)}

	for name, token := range map[string]string{
		"empty":                 "",
		"garbage":               "garbage",
		"two parts":             parts[0] + "." + parts[1],
		"four parts":            honest + ".x",
		"empty signature":       parts[0] + "." + parts[1] + ".",
		"cut signature":         honest[:len(honest)-4],
		"altered claims":        parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"usr_2"}`)) + "." + parts[2],
		"no algorithm":          unsigned,
		"none by header":        forge(t, key, with(header, "alg", "none"), claims),
		"HS256 with public key": hmac,
		"algorithm ES256":       forge(t, key, with(header, "alg", "ES256"), claims),
		"algorithm lower case":  forge(t, key, with(header, "alg", "eddsa"), claims),
		"other key":             other,
		"other key, known kid":  forge(t, otherKey, header, claims),
		"unknown kid":           forge(t, key, with(header, "kid", "mine"), claims),
		"no kid":                forge(t, key, with(header, "kid", nil), claims),
		"embedded jwk":          forge(t, otherKey, with(header, "jwk", jwk), claims),
		"jku":                   forge(t, key, with(header, "jku", "https://evil.example/keys"), claims),
		"critical extension":    forge(t, key, with(header, "crit", []string{"exp"}), claims),
		"plain JWT type":        forge(t, key, with(header, "typ", "JWT"), claims),
		"no type":               forge(t, key, with(header, "typ", nil), claims),
		"wrong issuer":          forge(t, key, header, with(claims, "iss", "weir-tenant")),
		"no issuer":             forge(t, key, header, with(claims, "iss", nil)),
		"wrong audience":        forge(t, key, header, with(claims, "aud", "metering")),
		"no audience":           forge(t, key, header, with(claims, "aud", nil)),
		"expired":               forge(t, key, header, with(with(claims, "exp", unix(-time.Minute)), "iat", unix(-2*time.Minute))),
		"no expiry":             forge(t, key, header, with(claims, "exp", nil)),
		"too long a life":       forge(t, key, header, with(claims, "exp", unix(24*time.Hour))),
		"no issue time":         forge(t, key, header, with(claims, "iat", nil)),
		"issued in the future":  forge(t, key, header, with(with(claims, "iat", unix(time.Hour)), "exp", unix(time.Hour+time.Minute))),
		"not valid yet":         forge(t, key, header, with(claims, "nbf", unix(time.Hour))),
		"no subject":            forge(t, key, header, with(claims, "sub", nil)),
		"no kind":               forge(t, key, header, with(claims, "kind", nil)),
		"kind service":          forge(t, key, header, with(claims, "kind", "service")),
		"no org":                forge(t, key, header, with(claims, "org", nil)),
		"no role":               forge(t, key, header, with(claims, "role", nil)),
		"made-up role":          forge(t, key, header, with(claims, "role", "root")),
		"node with an org":      forge(t, key, header, with(claims, "kind", "node")),
		"claims of wrong type":  forge(t, key, header, with(claims, "org", 7)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := verifier.Verify(token)
			require.ErrorIs(t, err, fault.Unauthenticated)
			require.Zero(t, got)
			require.Equal(t, "The credential is not valid.", fault.From(err).Public, "the reason stays inside")
		})
	}
}
