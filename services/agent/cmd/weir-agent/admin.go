package main

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/weirhq/weir/services/agent/simnode"
)

// serveAdmin answers about the agent itself, until the returned function is called.
func serveAdmin(addr string, h *simnode.Host) (func(), error) {
	if addr == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for --admin-addr: %w", err)
	}
	s := &http.Server{Handler: adminHandler(h), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.Serve(l) }()
	return func() { _ = s.Close() }, nil
}

func adminHandler(h *simnode.Host) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s := h.Snapshot(); !s.Connected {
			http.Error(w, "the control plane has not answered for a while", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		s := h.Snapshot()
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprintf(w, "weir_agent_tunnel_up %d\n", bit(s.TunnelUp))
		fmt.Fprintf(w, "weir_agent_connected %d\n", bit(s.Connected))
		for _, state := range slices.Sorted(maps.Keys(s.Members)) {
			fmt.Fprintf(w, "weir_agent_members{state=%q} %d\n", state, s.Members[state])
		}
		for _, name := range slices.Sorted(maps.Keys(s.Counters)) {
			fmt.Fprintf(w, "weir_agent_%s %d\n", name, s.Counters[name])
		}
	})
	return mux
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
