package simnode

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// Direction is which way nothing gets through.
type Direction string

// The directions, as seen by the node.
const (
	Both Direction = "both"
	In   Direction = "in"
	Out  Direction = "out"
)

// network is the node's cable. What is under way when it is cut waits, as TCP would, until it heals or is given up.
type network struct {
	mu  sync.Mutex
	in  chan struct{} // closed when healed; nil while whole
	out chan struct{}
}

func (n *network) cut(d Direction) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if d != Out && n.in == nil {
		n.in = make(chan struct{})
	}
	if d != In && n.out == nil {
		n.out = make(chan struct{})
	}
}

func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range []*chan struct{}{&n.in, &n.out} {
		if *c != nil {
			close(*c)
			*c = nil
		}
	}
}

// state is the cut of one direction, nil while whole.
func (n *network) state(d Direction) chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if d == In {
		return n.in
	}
	return n.out
}

// pass waits until the direction is whole.
func (n *network) pass(ctx context.Context, d Direction) error {
	cut := n.state(d)
	if cut == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-cut:
		return nil
	}
}

// RoundTripper implements agent.Network.
func (n *network) RoundTripper(next http.RoundTripper) http.RoundTripper { return &caller{n, next} }

type caller struct {
	net  *network
	next http.RoundTripper
}

func (c *caller) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := c.net.pass(r.Context(), Out); err != nil {
		return nil, err
	}
	resp, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := c.net.pass(r.Context(), In); err != nil {
		resp.Body.Close() // the server did hear it
		return nil, err
	}
	return resp, nil
}

// Conn implements agent.Network.
func (n *network) Conn(c net.Conn) net.Conn {
	return &cable{Conn: c, net: n, closed: make(chan struct{})}
}

// cable is one connection over the network.
type cable struct {
	net.Conn
	net    *network
	once   sync.Once
	closed chan struct{}
}

func (c *cable) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.pass(In) {
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *cable) Write(p []byte) (int, error) {
	if !c.pass(Out) {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

func (c *cable) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// pass waits until the direction is whole; false when the connection was closed instead.
func (c *cable) pass(d Direction) bool {
	cut := c.net.state(d)
	if cut == nil {
		return true
	}
	select {
	case <-c.closed:
		return false
	case <-cut:
		return true
	}
}
