// Package obs owns what makes a log line findable: the request id and the caller's org
// travel in the context and are added to every record logged under it.
package obs

import (
	"context"
	"io"
	"log/slog"

	"github.com/weirhq/weir/pkg/kernel/actor"
)

type requestIDKey struct{}

// WithRequestID returns ctx carrying the request's id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the request's id, or "".
func RequestID(ctx context.Context) string {
	s, _ := ctx.Value(requestIDKey{}).(string)
	return s
}

// NewLogger writes JSON lines with the context's request id and org.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(Handler(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})))
}

// Handler adds the context's request id and org to each record before h gets it.
func Handler(h slog.Handler) slog.Handler { return handler{h} }

type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	if org := actor.From(ctx).Org; org != "" {
		r.AddAttrs(slog.String("org", org))
	}
	return h.Handler.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
