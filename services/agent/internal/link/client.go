package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/weirhq/weir/pkg/api/agentapi"
	"github.com/weirhq/weir/pkg/api/commonapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
)

const (
	callWithin = 10 * time.Second
	joinWithin = 30 * time.Second
	maxAnswer  = 16 << 20
)

// Network stands between the agent and the control plane, for simulated nodes whose cable is cut. Both are asked for every
// new client and connection.
type Network interface {
	RoundTripper(next http.RoundTripper) http.RoundTripper
	Conn(c net.Conn) net.Conn
}

// Options are what clients are made with.
type Options struct {
	Server  string
	Clock   clock.Clock
	Network Network // optional
}

// Client makes one call at a time per operation; it is safe for concurrent use.
type Client struct {
	opts Options
	tls  *tls.Config
	http *http.Transport
	api  *agentapi.ClientWithResponses
}

// NewPinned returns the client of a node that joins.
func NewPinned(o Options, p Pin) (*Client, error) {
	config, err := pinnedTLS(o.Server, p, o.Clock.Now)
	if err != nil {
		return nil, err
	}
	return newClient(o, config)
}

// New returns the client of a node that has joined.
func New(o Options, identity func() Identity) (*Client, error) {
	config, err := nodeTLS(o.Server, identity, o.Clock.Now)
	if err != nil {
		return nil, err
	}
	return newClient(o, config)
}

func newClient(o Options, config *tls.Config) (*Client, error) {
	c := &Client{opts: o, tls: config}
	// HTTP/1.1: a call that hangs costs its own connection and nobody else's.
	c.http = &http.Transport{TLSClientConfig: config, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
		MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: callWithin,
		DialContext: (&net.Dialer{Timeout: callWithin}).DialContext}
	var next http.RoundTripper = limited{c.http}
	if o.Network != nil {
		next = o.Network.RoundTripper(next)
	}
	api, err := agentapi.NewClientWithResponses(o.Server, agentapi.WithHTTPClient(&http.Client{
		Transport:     next,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}))
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	c.api = api
	return c, nil
}

// limited refuses to read an answer without end.
type limited struct{ next http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

// Close ends idle connections, so that the next call shows the newest certificate.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// errDeadline is a call that was given up.
var errDeadline = errors.New("no answer in time")

// within bounds a call by the injected clock.
func (c *Client) within(ctx context.Context, d time.Duration) (context.Context, func()) {
	bound, cancel := context.WithCancelCause(ctx)
	expired := c.opts.Clock.After(d)
	done := make(chan struct{})
	go func() {
		select {
		case <-expired:
			cancel(errDeadline)
		case <-done:
		}
	}()
	return bound, func() {
		close(done)
		cancel(nil)
	}
}

// given names why a call failed.
func given(ctx context.Context, doing string, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errDeadline) {
		return fmt.Errorf("%s: %w", doing, errDeadline)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// refused turns a problem into a fault.
func refused(doing string, status int, p *commonapi.Problem) error {
	if p == nil {
		return fmt.Errorf("%s: unexpected answer %d", doing, status)
	}
	return fmt.Errorf("%s: %w", doing, fault.New(fault.Code(p.Code), p.Detail))
}
