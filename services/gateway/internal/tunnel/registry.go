package tunnel

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
)

const (
	quiet    = 15 * time.Second // without a frame from the node, it is pinged
	pingWait = 10 * time.Second // without an answer, the tunnel is dead
)

// Registry is the living tunnels by node id.
type Registry struct {
	clk clock.Clock
	log *slog.Logger

	mu     sync.Mutex
	byNode map[string]*tunnel
	shut   bool
}

// tunnel is one upgraded connection.
type tunnel struct {
	client *http.ClientConn
	conn   *watched
}

// NewRegistry returns an empty registry.
func NewRegistry(clk clock.Clock, log *slog.Logger) *Registry {
	return &Registry{clk: clk, log: log, byNode: map[string]*tunnel{}}
}

// speak makes conn an HTTP/2 client's. The connection has its TLS below, so that HTTP/2
// itself is in the clear.
func speak(ctx context.Context, conn net.Conn) (*http.ClientConn, error) {
	t := &http.Transport{
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		HTTP2:              &http.HTTP2Config{SendPingTimeout: quiet, PingTimeout: pingWait, WriteByteTimeout: pingWait},
		Protocols:          &http.Protocols{},
		DisableCompression: true,
	}
	t.Protocols.SetUnencryptedHTTP2(true)
	return t.NewClientConn(ctx, "http", "node:80")
}

// Add makes conn the node's tunnel until it breaks or the instant end, when the
// certificate that opened it runs out. It takes the place of an older one.
func (r *Registry) Add(ctx context.Context, node string, conn net.Conn, end time.Time) error {
	t := &tunnel{conn: &watched{Conn: conn, closed: make(chan struct{})}}
	client, err := speak(ctx, t.conn)
	if err != nil {
		_ = t.conn.Close()
		return fmt.Errorf("tunnel of %s: %w", node, err)
	}
	t.client = client
	r.mu.Lock()
	old, shut := r.byNode[node], r.shut
	if !shut {
		r.byNode[node] = t
	}
	r.mu.Unlock()
	if shut {
		_ = t.conn.Close()
		return fmt.Errorf("tunnel of %s: the gateway is stopping", node)
	}
	if old != nil {
		_ = old.conn.Close()
	}
	go r.watch(node, t, end)
	return nil
}

// watch removes a tunnel that broke and breaks one whose time is over.
func (r *Registry) watch(node string, t *tunnel, end time.Time) {
	select {
	case <-t.conn.closed:
	case <-r.clk.After(end.Sub(r.clk.Now())):
		_ = t.conn.Close()
	}
	r.mu.Lock()
	if r.byNode[node] == t {
		delete(r.byNode, node)
	}
	r.mu.Unlock()
	r.log.Debug("tunnel ended", "node", node)
}

// Get asks a node over its tunnel. The caller closes the answer's body; ctx bounds it.
func (r *Registry) Get(ctx context.Context, node, path string) (*http.Response, error) {
	r.mu.Lock()
	t := r.byNode[node]
	r.mu.Unlock()
	if t == nil || t.client.Err() != nil {
		return nil, fault.New(fault.Unavailable, "The node "+node+" is not connected right now.")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://node"+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask node %s: %w", node, err)
	}
	resp, err := t.client.RoundTrip(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.Wrap(fault.Unavailable, "The connection to the node "+node+" broke.", err)
	}
	return resp, nil
}

// Has reports whether the node has a tunnel.
func (r *Registry) Has(node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byNode[node] != nil
}

// Drop breaks the node's tunnel: its certificate is no longer good.
func (r *Registry) Drop(node string) {
	r.mu.Lock()
	t := r.byNode[node]
	r.mu.Unlock()
	if t != nil {
		_ = t.conn.Close()
	}
}

// Close breaks all tunnels and takes no new ones.
func (r *Registry) Close() {
	r.mu.Lock()
	r.shut = true
	all := r.byNode
	r.byNode = map[string]*tunnel{}
	r.mu.Unlock()
	for _, t := range all {
		_ = t.conn.Close()
	}
}

// watched says when a connection is closed, by whichever side of it.
type watched struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

// Close closes the connection.
func (w *watched) Close() error {
	err := net.ErrClosed
	w.once.Do(func() {
		err = w.Conn.Close()
		close(w.closed)
	})
	return err
}
