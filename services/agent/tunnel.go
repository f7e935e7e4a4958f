package agent

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent/runtime"
)

const waitForLog = 100 * time.Millisecond

// tunnelLoop keeps one connection open on which the gateway asks for streams.
func (a *Agent) tunnelLoop(ctx context.Context) error {
	client, err := a.connected(ctx)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /logs/{member}", a.logs)
	for try := 0; ; {
		err := client.Tunnel(ctx, mux, func() {
			try = 0
			a.tunnelUp.Store(true)
			a.answered()
		})
		a.tunnelUp.Store(false)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait := a.backoff(try)
		try++
		a.cfg.Log.Warn("tunnel is down", "error", err, "wait", wait)
		if err := clock.Sleep(ctx, a.cfg.Clock, wait); err != nil {
			return err
		}
	}
}

// logs streams a member's output: ?tail=n for the last lines, ?follow=1 until it ends.
func (a *Agent) logs(w http.ResponseWriter, r *http.Request) {
	o := runtime.LogOptions{Tail: -1}
	if f := r.URL.Query().Get("follow"); f == "1" || f == "true" {
		o.Follow = true
	}
	if t := r.URL.Query().Get("tail"); t != "" {
		n, err := strconv.Atoi(t)
		if err != nil || n < 0 {
			http.Error(w, "tail must be a number of lines", http.StatusUnprocessableEntity)
			return
		}
		o.Tail = n
	}
	log, err := a.openLog(r.Context(), r.PathValue("member"), o)
	if errors.Is(err, runtime.ErrNoMember) {
		http.Error(w, "no such member", http.StatusNotFound)
		return
	}
	if err != nil {
		a.cfg.Log.Warn("log not read", "error", err)
		http.Error(w, "the log cannot be read", http.StatusInternalServerError)
		return
	}
	defer log.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	flush := http.NewResponseController(w)
	if err := flush.Flush(); err != nil {
		return
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := log.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
			if err := flush.Flush(); err != nil {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && r.Context().Err() == nil {
				a.cfg.Log.Warn("log not read to its end", "error", err)
			}
			return
		}
	}
}

// openLog opens a member's log. A follower of a member that is still being prepared waits for its start.
func (a *Agent) openLog(ctx context.Context, member string, o runtime.LogOptions) (io.ReadCloser, error) {
	for {
		if !namedLikeMember(member) {
			return nil, runtime.ErrNoMember
		}
		log, err := a.cfg.Runtime.Logs(ctx, member, o)
		if !errors.Is(err, runtime.ErrNoMember) || !o.Follow || !a.engine.Preparing(member) {
			return log, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(waitForLog):
		}
	}
}
