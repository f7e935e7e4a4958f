package failure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/problem"
)

func TestCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {errors.New("x"), 1}, {&Exit{7}, 7}, {Usagef("bad"), 2}, {fmt.Errorf("wrapped: %w", Usagef("bad")), 2},
		{fault.New(fault.Invalid, ""), 2}, {fault.New(fault.NotFound, ""), 3}, {fault.New(fault.Unauthenticated, ""), 4}, {fault.New(fault.Forbidden, ""), 4},
		{fault.New(fault.OrgSuspended, ""), 4}, {fault.New(fault.NoCapacity, ""), 5}, {fault.New(fault.QuotaExceeded, ""), 5}, {fault.New(fault.SpendLimit, ""), 5},
		{fault.New(fault.Unavailable, ""), 1}, {fault.New(fault.Internal, ""), 1}, {&Refusal{Fault: fault.New(fault.NotFound, "")}, 3},
		{fmt.Errorf("call: %w", context.Canceled), 130},
	} {
		require.Equal(t, c.want, Code(c.err), "%v", c.err)
	}
}

func report(err error) string {
	var b bytes.Buffer
	Report(&b, err)
	return b.String()
}

func TestWords(t *testing.T) {
	t.Parallel()
	require.Empty(t, report(nil))
	require.Empty(t, report(&Exit{3}))
	require.Equal(t, "weir: dial: refused\n", report(errors.New("dial: refused")))
	require.Equal(t, "weir: name is required\n", report(fault.InvalidField("name", "is required")), "one field is said once")

	many := fault.InvalidField("count", "must be at least 1")
	many.Public += ". 1 more in errors."
	many.Fields = append(many.Fields, fault.Field{Field: "name", Message: "is required"})
	require.Equal(t, "weir: count must be at least 1. 1 more in errors.\n  count must be at least 1\n  name is required\n", report(many))

	body := []byte(`{"code":"no_capacity","detail":"No room for 8 cards on one node.","request_id":"req_1","limit":4,"used":null,"requested":8,
		"alternatives":[{"offering":"a100-40gb.whole","count":4,"share":null,"available":1,"price":{"per_hour":"3.500000","currency":"CNY"}},{"offering":"x.whole","count":1}]}`)
	err := problem.Check(http.StatusConflict, body, http.Header{})
	require.Equal(t, "weir: No room for 8 cards on one node.\n  limit 4, used ?, requested 8\n"+
		"  hint: a100-40gb.whole fits now with --count 4 (1 available, 3.50 CNY/h)\n  hint: x.whole fits now\n", report(err))

	require.Equal(t, "weir: Who?\n  hint: log in with: weir login\n", report(fault.New(fault.Unauthenticated, "Who?")))
	wrong := fault.New(fault.Unauthenticated, "The password is wrong.")
	require.Equal(t, "weir: The password is wrong.\n", report(&Refusal{Fault: wrong, LoggingIn: true}))
	require.Equal(t, "weir: offering is not on offer\n  hint: see what can be rented with: weir offerings\n", report(fault.InvalidField("offering", "is not on offer")))
	require.Empty(t, report(fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE})))
	require.NotEmpty(t, report(fmt.Errorf("post: %w", syscall.EPIPE)))
	down := fault.New(fault.Unavailable, "Later.")
	down.RetryAfter = 2 * time.Second
	require.Equal(t, "weir: Later.\n  hint: try again in 2s\n  request id: req_9\n", report(&Refusal{Fault: down, RequestID: "req_9"}))
}
