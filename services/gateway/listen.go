package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
	stopGrace     = 2 * time.Second        // for people's requests; nodes ask again
	cancelGrace   = 500 * time.Millisecond // to notice that a request was cancelled
)

// listen opens a door's address; its error is one sentence for who started the process.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return ln, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("address %s is already in use", addr)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("address %s is not one of this machine", addr)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("address %s may not be used by this user", addr)
	}
	return nil, fmt.Errorf("address %s cannot be used: %w", addr, err)
}

// serve answers on ln until ctx ends. Requests under way then have grace to finish; what
// still goes on after that is cancelled.
func serve(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger, grace time.Duration) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug), // strangers' broken handshakes
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	if grace > 0 {
		_ = shutdown(base, srv, grace)
	}
	cancel()
	_ = shutdown(context.WithoutCancel(base), srv, cancelGrace)
	_ = srv.Close()
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	}
	return nil
}

func shutdown(ctx context.Context, srv *http.Server, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return srv.Shutdown(ctx)
}
