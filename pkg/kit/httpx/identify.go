package httpx

import (
	"errors"
	"net/http"
	"strings"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/mesh"
)

// gateway is the only service whose word about callers counts.
const gateway = "gateway"

// identifier finds the caller of a mesh request: whom the gateway's token speaks for, or
// the calling service itself.
func identifier(v *authn.Verifier) func(*http.Request) (actor.Actor, error) {
	return func(r *http.Request) (actor.Actor, error) {
		peer := mesh.Peer(r.Context())
		token, err := Bearer(r)
		switch {
		case err != nil:
			return actor.Actor{}, err
		case token == "" && peer == "":
			return actor.Actor{}, nil
		case token == "":
			return actor.Actor{Kind: actor.Service, ID: peer}, nil
		case peer != gateway || v == nil:
			return actor.Actor{}, fault.Wrap(fault.Unauthenticated, "The credential is not valid.", errors.New("a token from "+peer+", which is not the gateway"))
		}
		return v.Verify(token)
	}
}

// Bearer returns the request's bearer credential, or "" when it has none. Another scheme
// or two headers are refused rather than ignored.
func Bearer(r *http.Request) (string, error) {
	switch h := r.Header.Values("Authorization"); len(h) {
	case 0:
		return "", nil
	case 1:
		scheme, token, ok := strings.Cut(h[0], " ")
		if token = strings.TrimSpace(token); ok && strings.EqualFold(scheme, "Bearer") && token != "" {
			return token, nil
		}
	}
	return "", fault.New(fault.Unauthenticated, "The Authorization header must be: Bearer, a space, and an access token or API key.")
}
