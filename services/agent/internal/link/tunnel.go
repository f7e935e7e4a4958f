package link

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Protocol is what the upgrade is to.
const Protocol = "weir-tunnel"

const (
	pingAfter = 15 * time.Second
	pongIn    = 10 * time.Second
)

// Tunnel dials out once and serves h on the connection until it breaks or ctx ends. opened is called once it stands.
func (c *Client) Tunnel(ctx context.Context, h http.Handler, opened func()) error {
	upgraded, err := c.upgrade(ctx)
	if err != nil {
		return err
	}
	conn := &onlyConn{Conn: upgraded, closed: make(chan struct{})}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	opened()
	serveOne(ctx, conn, h)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.New("the tunnel was closed")
}

// serveOne serves HTTP/2 on one connection until it is closed. Its TLS lies below, so that
// HTTP/2 itself is in the clear.
func serveOne(ctx context.Context, conn *onlyConn, h http.Handler) {
	server := &http.Server{
		Handler: h, Protocols: &http.Protocols{}, BaseContext: func(net.Listener) context.Context { return ctx },
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pongIn, MaxConcurrentStreams: 250},
	}
	server.Protocols.SetUnencryptedHTTP2(true)
	_ = server.Serve(&onlyListener{conn: conn}) // ends when the connection has: how, says nobody
}

// onlyConn says when it is closed.
type onlyConn struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (c *onlyConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// onlyListener has one connection, and is open for as long as that is.
type onlyListener struct {
	conn  *onlyConn
	given bool
}

func (l *onlyListener) Accept() (net.Conn, error) {
	if l.given {
		<-l.conn.closed
		return nil, net.ErrClosed
	}
	l.given = true
	return l.conn, nil
}

func (l *onlyListener) Close() error   { return nil }
func (l *onlyListener) Addr() net.Addr { return l.conn.LocalAddr() }

// upgraded is a connection of which some bytes may have been read already.
type upgraded struct {
	net.Conn
	r *bufio.Reader
}

func (u *upgraded) Read(p []byte) (int, error) { return u.r.Read(p) }

func (c *Client) upgrade(ctx context.Context) (net.Conn, error) {
	ctx, done := c.within(ctx, callWithin)
	defer done()
	u, err := url.Parse(c.opts.Server)
	if err != nil {
		return nil, fmt.Errorf("open tunnel: %w", err)
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), "443")
	}
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, given(ctx, "open tunnel", err)
	}
	if c.opts.Network != nil {
		raw = c.opts.Network.Conn(raw)
	}
	giveUp := context.AfterFunc(ctx, func() { raw.Close() }) // also ends a read or a write that hangs
	conn, err := c.handshake(ctx, raw, u.Host)
	if !giveUp() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		raw.Close()
		return nil, given(ctx, "open tunnel", err)
	}
	return conn, nil
}

func (c *Client) handshake(ctx context.Context, raw net.Conn, host string) (net.Conn, error) {
	conn := tls.Client(raw, c.tls)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	request := "GET /agent/v1/tunnel HTTP/1.1\r\nHost: " + host + "\r\nConnection: Upgrade\r\nUpgrade: " + Protocol + "\r\n\r\n"
	if _, err := conn.Write([]byte(request)); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodGet})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body.Close()
		return nil, fmt.Errorf("the server answered %s", resp.Status)
	}
	return &upgraded{conn, r}, nil
}
