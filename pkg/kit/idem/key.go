package idem

import "context"

// Key is what makes two requests the same one.
type Key struct {
	Org       string // org_… of the caller, or what stands for it before there is one
	Principal string // usr_… or key_…
	Operation string // operationId
	Path      string
	Key       string   // the Idempotency-Key header
	Body      [32]byte // SHA-256 of the body as it was sent
}

type ctxKey struct{}

// With returns ctx carrying the request's key. Only httpx calls it.
func With(ctx context.Context, k Key) context.Context { return context.WithValue(ctx, ctxKey{}, k) }

// From returns the request's key; false for operations that take none.
func From(ctx context.Context) (Key, bool) {
	k, ok := ctx.Value(ctxKey{}).(Key)
	return k, ok
}

// Replay is the error that carries the stored answer of an earlier request with the same
// key and body: httpx writes it instead of a problem.
type Replay struct {
	Status int
	Answer []byte // JSON
}

func (r *Replay) Error() string { return "answered before with the same idempotency key" }
