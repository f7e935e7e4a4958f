// Package failure owns how commands end: the exit code of every kind of error, and the
// words on standard error.
package failure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/cli/internal/output"
)

// The exit codes.
const (
	OK          = 0
	Failed      = 1
	BadUsage    = 2
	NotFound    = 3
	Denied      = 4
	NoRoom      = 5
	Interrupted = 130
)

// Usage is an error of the command line itself.
type Usage struct{ Err error }

func (u *Usage) Error() string { return u.Err.Error() }

// Unwrap exposes the cause.
func (u *Usage) Unwrap() error { return u.Err }

// Usagef makes a Usage.
func Usagef(format string, args ...any) error { return &Usage{fmt.Errorf(format, args...)} }

// Exit ends the command with a code of its own, without a word.
type Exit struct{ Code int }

func (e *Exit) Error() string { return fmt.Sprintf("exit %d", e.Code) }

// Refusal is a problem that the server answered.
type Refusal struct {
	Fault     *fault.Error
	RequestID string
	LoggingIn bool // it was a login that was refused: to log in is no advice
}

func (r *Refusal) Error() string { return r.Fault.Public }

// Unwrap exposes the fault to errors.Is and errors.As.
func (r *Refusal) Unwrap() error { return r.Fault }

// Code is the exit code of err.
func Code(err error) int {
	var exit *Exit
	var usage *Usage
	switch {
	case err == nil:
		return OK
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &usage):
		return BadUsage
	case errors.Is(err, context.Canceled):
		return Interrupted
	case is(err, fault.Invalid):
		return BadUsage
	case is(err, fault.NotFound):
		return NotFound
	case is(err, fault.Unauthenticated, fault.Forbidden, fault.OrgSuspended, fault.OrgOverdue):
		return Denied
	case is(err, fault.NoCapacity, fault.QuotaExceeded, fault.SpendLimit):
		return NoRoom
	}
	return Failed
}

func is(err error, codes ...fault.Code) bool {
	for _, c := range codes {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

// Report says on w what went wrong, in words a user can act on.
func Report(w io.Writer, err error) {
	var exit *Exit
	if err == nil || errors.As(err, &exit) || readerLeft(err) {
		return
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(w, "weir: interrupted")
		return
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		fmt.Fprintf(w, "weir: %v\n", err)
		return
	}
	fmt.Fprintf(w, "weir: %s\n", sentence(f))
	for _, field := range f.Fields {
		if line := field.Field + " " + field.Message; strings.TrimSuffix(f.Public, ".") != line {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	hints(w, err, f)
}

// readerLeft is whether standard output has no reader any more, as in `weir … | head`: nobody needs to be told.
func readerLeft(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && p.Path == os.Stdout.Name() && errors.Is(p, syscall.EPIPE)
}

func sentence(f *fault.Error) string {
	if f.Public == "" {
		return string(f.Code)
	}
	return f.Public
}

// hints are what the user may do next.
func hints(w io.Writer, err error, f *fault.Error) {
	if limit, ok := member[json.Number](f, "limit"); ok {
		used, _ := member[json.Number](f, "used")
		asked, _ := member[json.Number](f, "requested")
		fmt.Fprintf(w, "  limit %s, used %s, requested %s\n", word(limit), word(used), word(asked))
	}
	alternatives, _ := member[[]alternative](f, "alternatives")
	for _, a := range alternatives {
		fmt.Fprintf(w, "  hint: %s\n", a)
	}
	var r *Refusal
	refused := errors.As(err, &r)
	switch f.Code {
	case fault.Unauthenticated:
		if !refused || !r.LoggingIn {
			fmt.Fprintln(w, "  hint: log in with: weir login")
		}
	case fault.Invalid:
		if slices.ContainsFunc(f.Fields, func(f fault.Field) bool { return strings.HasPrefix(f.Field, "offering") }) {
			fmt.Fprintln(w, "  hint: see what can be rented with: weir offerings")
		}
	case fault.Unavailable, fault.RateLimited:
		if f.RetryAfter > 0 {
			fmt.Fprintf(w, "  hint: try again in %s\n", f.RetryAfter)
		}
	}
	if refused && r.RequestID != "" && (f.Code == fault.Internal || f.Code == fault.Unavailable) {
		fmt.Fprintf(w, "  request id: %s\n", r.RequestID)
	}
}

// alternative is what would fit now.
type alternative struct {
	Offering  string `json:"offering"`
	Count     int    `json:"count"`
	Available int    `json:"available"`
	Price     struct {
		PerHour  string `json:"per_hour"`
		Currency string `json:"currency"`
	} `json:"price"`
	Action string `json:"action"`
}

func (a alternative) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s fits now", a.Offering)
	if a.Count > 1 {
		fmt.Fprintf(&b, " with --count %d", a.Count)
	}
	if a.Available > 0 {
		fmt.Fprintf(&b, " (%d available", a.Available)
		if a.Price.PerHour != "" {
			fmt.Fprintf(&b, ", %s %s/h", output.Amount(a.Price.PerHour), a.Price.Currency)
		}
		b.WriteByte(')')
	}
	if a.Action != "" {
		fmt.Fprintf(&b, " after: %s", a.Action)
	}
	return b.String()
}

// member reads an extra member of the problem.
func member[T any](f *fault.Error, name string) (v T, ok bool) {
	raw, ok := f.Extra[name].(json.RawMessage)
	if !ok || string(raw) == "null" || json.Unmarshal(raw, &v) != nil {
		return v, false
	}
	return v, true
}

func word(n json.Number) string {
	if n == "" {
		return "?"
	}
	return n.String()
}
