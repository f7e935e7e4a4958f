package controltest

import (
	"bufio"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/weirhq/weir/pkg/api/agentapi"
)

func (p *Plane) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /agent/v1/enroll", p.enroll)
	for pattern, h := range map[string]http.HandlerFunc{
		"POST /agent/v1/renew": p.renew, "POST /agent/v1/status": p.status, "POST /agent/v1/reports": p.report,
		"GET /agent/v1/desired": p.poll, "GET /agent/v1/tunnel": p.open, "POST /agent/v1/going_down": p.farewell,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if len(r.TLS.PeerCertificates) == 0 {
				problem(w, http.StatusUnauthorized, "unauthenticated")
				return
			}
			h(w, r)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.calls = append(p.calls, r.Method+" "+r.URL.Path)
		p.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

func problem(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"about:blank","title":%q,"status":%d,"detail":"no","code":%q,"request_id":"r"}`, code, status, code)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// read decodes strictly, as the real door does.
func read(w http.ResponseWriter, r *http.Request, v any) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		problem(w, http.StatusUnprocessableEntity, "invalid")
		return false
	}
	return true
}

func (p *Plane) certificate(w http.ResponseWriter, csr, node string, status int) {
	block, _ := pem.Decode([]byte(csr))
	if block == nil {
		problem(w, http.StatusUnprocessableEntity, "invalid")
		return
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil || request.CheckSignature() != nil {
		problem(w, http.StatusUnprocessableEntity, "invalid")
		return
	}
	end := p.Now().Add(p.CertLife)
	der := p.sign(&x509.Certificate{Subject: pkix.Name{CommonName: node}, NotAfter: end, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, p.ca, request.PublicKey)
	answer(w, status, agentapi.Enrolled{Node: node, NotAfter: end, CAPEM: p.CAPEM(),
		CertificatePEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))})
}

func (p *Plane) enroll(w http.ResponseWriter, r *http.Request) {
	var in agentapi.EnrollRequest
	if !read(w, r, &in) {
		return
	}
	if in.Token != Token {
		problem(w, http.StatusForbidden, "forbidden")
		return
	}
	p.mu.Lock()
	p.enrolled++
	p.mu.Unlock()
	p.certificate(w, in.CSRPEM, "nod_"+in.NodeName, http.StatusCreated)
}

func (p *Plane) renew(w http.ResponseWriter, r *http.Request) {
	var in agentapi.RenewRequest
	if !read(w, r, &in) {
		return
	}
	p.mu.Lock()
	p.renewed++
	p.mu.Unlock()
	p.certificate(w, in.CSRPEM, r.TLS.PeerCertificates[0].Subject.CommonName, http.StatusOK)
}

func (p *Plane) status(w http.ResponseWriter, r *http.Request) {
	var in agentapi.NodeStatus
	if !read(w, r, &in) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.statuses); n > 0 && p.statuses[n-1].BootID == in.BootID && p.statuses[n-1].Seq >= in.Seq {
		problem(w, http.StatusConflict, "conflict")
		return
	}
	p.statuses = append(p.statuses, in)
	answer(w, http.StatusOK, agentapi.StatusAnswer{Seq: in.Seq, IntervalSeconds: 10})
}

func (p *Plane) report(w http.ResponseWriter, r *http.Request) {
	var in agentapi.Report
	if !read(w, r, &in) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		problem(w, http.StatusServiceUnavailable, "unavailable")
		return
	}
	p.reports = append(p.reports, in)
	out := agentapi.ReportAnswer{Seq: in.Seq, Acknowledged: []string{}, NewBootCleared: true}
	for _, m := range in.Members {
		p.observed[m.Member] = m
		if m.Released && !p.keep {
			out.Acknowledged = append(out.Acknowledged, m.Member)
		}
	}
	answer(w, http.StatusOK, out)
}

func (p *Plane) poll(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	wait, _ := strconv.Atoi(q.Get("wait"))
	generation, _ := strconv.ParseInt(q.Get("generation"), 10, 64)
	deadline := time.After(time.Duration(wait) * time.Second)
	for {
		p.mu.Lock()
		d, changed := p.desired, p.changed
		p.mu.Unlock()
		if d.Incarnation != q.Get("incarnation") || d.Generation > generation {
			answer(w, http.StatusOK, d)
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-deadline:
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
}

func (p *Plane) farewell(w http.ResponseWriter, r *http.Request) {
	var in agentapi.GoingDown
	if !read(w, r, &in) {
		return
	}
	p.mu.Lock()
	p.farewells++
	p.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

func (p *Plane) open(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "weir-tunnel" {
		problem(w, http.StatusUnprocessableEntity, "invalid")
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		problem(w, http.StatusInternalServerError, "internal")
		return
	}
	if _, err := conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: weir-tunnel\r\n\r\n")); err != nil {
		conn.Close()
		return
	}
	transport := &http.Transport{Protocols: &http.Protocols{}, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return hijacked{conn, buffered.Reader}, nil
	}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	tunnel, err := transport.NewClientConn(r.Context(), "http", "node:80")
	if err != nil {
		conn.Close()
		return
	}
	p.mu.Lock()
	p.tunnel = tunnel
	p.mu.Unlock()
}

type hijacked struct {
	net.Conn
	r *bufio.Reader
}

func (h hijacked) Read(b []byte) (int, error) { return h.r.Read(b) }

// Logs asks the node for a member's log over the tunnel.
func (p *Plane) Logs(ctx context.Context, member, query string) (int, string, error) {
	p.mu.Lock()
	tunnel := p.tunnel
	p.mu.Unlock()
	if tunnel == nil {
		return 0, "", io.ErrNoProgress
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://node/logs/"+member+"?"+query, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := tunnel.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}
