// Package tunneltest owns the node's side of a tunnel, for tests.
package tunneltest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// Node upgrades conn as a node does and serves h on it. The channel closes when the
// tunnel has ended.
func Node(ctx context.Context, conn net.Conn, h http.Handler) (<-chan struct{}, error) {
	if _, err := io.WriteString(conn, "GET /agent/v1/tunnel HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: weir-tunnel\r\n\r\n"); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, fmt.Errorf("answered %d", resp.StatusCode)
	}
	c := &ahead{Conn: conn, r: r, ended: make(chan struct{})}
	srv := &http.Server{Handler: h, Protocols: &http.Protocols{}, BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) }}
	srv.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = srv.Serve(&once{conn: c}) }() // until the connection has ended
	return c.ended, nil
}

// ahead reads first what came with the answer, and says when it is closed.
type ahead struct {
	net.Conn
	r     *bufio.Reader
	once  sync.Once
	ended chan struct{}
}

func (a *ahead) Read(p []byte) (int, error) { return a.r.Read(p) }

func (a *ahead) Close() error {
	a.once.Do(func() { close(a.ended) })
	return a.Conn.Close()
}

// once is a listener with one connection, open for as long as that is.
type once struct {
	conn  *ahead
	given bool
}

func (o *once) Accept() (net.Conn, error) {
	if o.given {
		<-o.conn.ended
		return nil, net.ErrClosed
	}
	o.given = true
	return o.conn, nil
}

func (o *once) Close() error   { return nil }
func (o *once) Addr() net.Addr { return o.conn.LocalAddr() }
