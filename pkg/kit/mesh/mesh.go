// Package mesh owns how services find and call each other. The same generated client,
// middleware and authentication run whether the peer is in this process (an in-memory
// listener) or behind TCP; only the Mesh value differs.
//
// The transport proves who calls: Peer(ctx) is the calling service's name. In memory the
// dialer writes it; over TCP it will come from the client certificate.
package mesh

import (
	"context"
	"net"
	"net/http"
)

// Mesh hands out HTTP clients to peers on behalf of one calling service.
type Mesh interface {
	// As returns the mesh as seen by the named service: its calls carry that identity.
	As(service string) Mesh
	// HTTPClient returns the base URL and client that reach the named service. The client
	// has no overall timeout (streams use it too): callers bound calls by context.
	HTTPClient(service string) (baseURL string, client *http.Client)
	// Listen returns the listener on which the named service serves, once.
	Listen(service string) (net.Listener, error)
}

type peerKey struct{}

// WithPeer returns ctx carrying the proven name of the calling service.
func WithPeer(ctx context.Context, service string) context.Context {
	return context.WithValue(ctx, peerKey{}, service)
}

// Peer returns the proven name of the calling service, or "" outside the mesh.
func Peer(ctx context.Context) string {
	s, _ := ctx.Value(peerKey{}).(string)
	return s
}

// ConnContext goes into http.Server.ConnContext: it moves the identity that the
// transport proved from the connection into each request's context.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if p, ok := c.(interface{ MeshPeer() string }); ok {
		return WithPeer(ctx, p.MeshPeer())
	}
	return ctx
}
