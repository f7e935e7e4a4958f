package tunnel

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// Protocol is what a node asks to upgrade to.
const Protocol = "weir-tunnel"

// Upgrade answers a node's request with 101 and makes its connection the node's tunnel.
// An error before that can still be answered; after it the connection is gone.
func (r *Registry) Upgrade(w http.ResponseWriter, req *http.Request, node string, end time.Time) error {
	if !strings.EqualFold(req.Header.Get("Upgrade"), Protocol) || !hasToken(req.Header.Values("Connection"), "upgrade") {
		return fault.InvalidField("Upgrade", "must be "+Protocol+", with Connection: Upgrade")
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("take over the connection: %w", err)
	}
	_ = conn.SetDeadline(time.Time{}) // the server's deadlines end with its request
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", Protocol); err != nil {
		_ = conn.Close()
		r.log.InfoContext(req.Context(), "tunnel not opened", "node", node, "error", err.Error())
		return nil
	}
	if err := r.Add(req.Context(), node, &readAhead{Conn: conn, r: buffered.Reader}, end); err != nil {
		r.log.InfoContext(req.Context(), "tunnel not opened", "node", node, "error", err.Error())
	}
	return nil
}

func hasToken(values []string, want string) bool {
	for _, v := range values {
		for token := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(token), want) {
				return true
			}
		}
	}
	return false
}

// readAhead reads first what the HTTP server had read before it let go.
type readAhead struct {
	net.Conn
	r *bufio.Reader
}

func (c *readAhead) Read(p []byte) (int, error) {
	if c.r != nil {
		if c.r.Buffered() > 0 {
			return c.r.Read(p)
		}
		c.r = nil
	}
	return c.Conn.Read(p)
}
