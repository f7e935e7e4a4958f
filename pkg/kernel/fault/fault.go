// Package fault owns the error vocabulary shared by every service: a small set of
// codes, a sentence for the user, and an internal cause that only the log may see.
//
// Compare with errors.Is against the code values: errors.Is(err, fault.NotFound).
package fault

import (
	"errors"
	"time"
)

// Code is one of the public error codes of the REST contract.
type Code string

// The public codes. Each maps to exactly one HTTP status (docs/status-codes.md).
const (
	Invalid             Code = "invalid"              // 422
	Unauthenticated     Code = "unauthenticated"      // 401
	Forbidden           Code = "forbidden"            // 403
	NotFound            Code = "not_found"            // 404
	Conflict            Code = "conflict"             // 409
	IdempotencyMismatch Code = "idempotency_mismatch" // 409
	Stale               Code = "stale"                // 412
	QuotaExceeded       Code = "quota_exceeded"       // 409
	SpendLimit          Code = "spend_limit"          // 402
	NoCapacity          Code = "no_capacity"          // 409
	PriceChanged        Code = "price_changed"        // 409
	RateLimited         Code = "rate_limited"         // 429
	OrgOverdue          Code = "org_overdue"          // 402
	OrgSuspended        Code = "org_suspended"        // 403
	TooLarge            Code = "too_large"            // 413
	Gone                Code = "gone"                 // 410, feeds only: list, then watch
	Unavailable         Code = "unavailable"          // 503
	Internal            Code = "internal"             // 500
)

// Error makes a bare code usable as an errors.Is target and as a minimal error.
func (c Code) Error() string { return string(c) }

// Field is one refused field of a request body or query.
type Field struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is a refusal or failure: Public is shown to the user, Cause only logged.
type Error struct {
	Code       Code
	Public     string
	Fields     []Field
	RetryAfter time.Duration  // for rate_limited and unavailable
	Extra      map[string]any // extra members of the problem document (limit, used, alternatives …)
	Cause      error
}

// New returns a fault with a public sentence.
func New(c Code, public string) *Error { return &Error{Code: c, Public: public} }

// Wrap returns a fault whose cause is kept for the log only.
func Wrap(c Code, public string, cause error) *Error {
	return &Error{Code: c, Public: public, Cause: cause}
}

// InvalidField returns an invalid fault that names one field.
func InvalidField(field, message string) *Error {
	return &Error{Code: Invalid, Public: field + " " + message, Fields: []Field{{field, message}}}
}

// With returns a copy that carries one more member of the problem document.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Extra = map[string]any{key: value}
	for k, v := range e.Extra {
		if k != key {
			c.Extra[k] = v
		}
	}
	return &c
}

func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Public
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap exposes the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// Is makes errors.Is(err, fault.NotFound) true for any fault of that code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// From finds the fault inside err; anything else becomes an internal fault that hides err.
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var c Code
	if errors.As(err, &c) {
		return &Error{Code: c, Public: string(c), Cause: err}
	}
	return &Error{Code: Internal, Public: "Something went wrong on our side. The request id finds it in our logs.", Cause: err}
}
