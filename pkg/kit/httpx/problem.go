package httpx

import (
	"context"
	"errors"
	"net/http"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/idem"
	"github.com/weirhq/weir/pkg/kit/obs"
	"github.com/weirhq/weir/pkg/kit/problem"
)

// WriteProblem answers a request with err: a fault as its problem document, a stored
// answer as it was, anything else as internal. Causes go to the log only.
func WriteProblem(w http.ResponseWriter, r *http.Request, err error) {
	ctx := r.Context()
	log := obs.Logger(ctx)
	if g, ok := w.(interface{ Written() bool }); ok && g.Written() {
		log.WarnContext(ctx, "answer broke off", "error", err.Error())
		return
	}
	var stored *idem.Replay
	if errors.As(err, &stored) {
		replay(w, stored)
		return
	}
	f := fault.From(overload(ctx, err))
	switch {
	case f.Code == fault.Internal:
		log.ErrorContext(ctx, "request failed", "error", err.Error())
	case f.Cause != nil:
		log.InfoContext(ctx, "request refused", "code", f.Code, "error", err.Error())
	}
	if err := problem.Write(w, f, obs.RequestID(ctx)); err != nil {
		log.InfoContext(ctx, "problem not written", "error", err.Error())
	}
}

// overload makes the end of a deadline the caller's "try again", unless a fault says more.
func overload(ctx context.Context, err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return fault.Wrap(fault.Unavailable, "This took too long and was given up.", err)
	}
	return err
}

// replay writes the answer that the first request with the same idempotency key got.
func replay(w http.ResponseWriter, r *idem.Replay) {
	h := w.Header()
	h.Set("Idempotent-Replayed", "true")
	h.Set("Cache-Control", "no-store")
	if len(r.Answer) > 0 {
		h.Set("Content-Type", "application/json")
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Answer) // a caller that went away asks again
}

// ReadProblem returns nil for an answer of success, else the fault it carries.
func ReadProblem(resp *http.Response) error { return problem.Read(resp) }

// Check is ReadProblem for the answers of generated clients.
func Check(status int, body []byte, header http.Header) error {
	return problem.Check(status, body, header)
}
