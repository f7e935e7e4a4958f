// Package authn owns the internal token: how the gateway, and nobody else, tells a
// service on whose behalf a request comes. A token is a JWT signed with Ed25519, good
// for one service (audience) and one minute. Everything about it is pinned: algorithm,
// type, key id, issuer; a header that brings its own key is refused.
//
// Services accept a token only on connections that the mesh proves to come from the
// gateway; a stolen token is worthless anywhere else.
package authn
