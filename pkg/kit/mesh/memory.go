package mesh

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Memory is the mesh of one process: every service listens on an in-memory listener.
type Memory struct {
	self string
	hub  *hub
}

type hub struct {
	mu        sync.Mutex
	listeners map[string]*memListener
	claimed   map[string]bool
	clients   map[string]*http.Client // by caller>callee, so that connections are reused
}

// NewMemory returns an empty in-process mesh.
func NewMemory() *Memory {
	return &Memory{hub: &hub{listeners: map[string]*memListener{}, claimed: map[string]bool{}, clients: map[string]*http.Client{}}}
}

// As returns the mesh as seen by the named service.
func (m *Memory) As(service string) Mesh { return &Memory{self: service, hub: m.hub} }

// Listen claims the named service's listener.
func (m *Memory) Listen(service string) (net.Listener, error) {
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	if m.hub.claimed[service] {
		return nil, fmt.Errorf("mesh: service %s already listens", service)
	}
	m.hub.claimed[service] = true
	return m.hub.listener(service), nil
}

// listener returns the named listener, made on first use so that a client may dial
// before the peer serves. The caller holds mu.
func (h *hub) listener(service string) *memListener {
	l, ok := h.listeners[service]
	if !ok {
		l = &memListener{name: service, ch: make(chan net.Conn), done: make(chan struct{})}
		h.listeners[service] = l
	}
	return l
}

// HTTPClient returns a client whose connections carry this mesh's identity.
func (m *Memory) HTTPClient(service string) (string, *http.Client) {
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	key := m.self + ">" + service
	c, ok := m.hub.clients[key]
	if !ok {
		l, self := m.hub.listener(service), m.self
		c = &http.Client{
			Transport: &http.Transport{
				DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx, self) },
				MaxIdleConnsPerHost: 64,
				IdleConnTimeout:     time.Minute,
				DisableCompression:  true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		m.hub.clients[key] = c
	}
	return "http://" + service, c
}

type memListener struct {
	name string
	ch   chan net.Conn
	done chan struct{}
	once sync.Once
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ch:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *memListener) Addr() net.Addr { return &net.UnixAddr{Name: l.name, Net: "memory"} }

// dial hands the server its end of a pipe, marked with the caller's name.
func (l *memListener) dial(ctx context.Context, peer string) (net.Conn, error) {
	server, client := net.Pipe()
	select {
	case l.ch <- peerConn{server, peer}:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.done:
		return nil, net.ErrClosed
	}
}

type peerConn struct {
	net.Conn
	peer string
}

func (c peerConn) MeshPeer() string { return c.peer }
