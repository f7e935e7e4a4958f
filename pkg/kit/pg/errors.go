package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// ErrCommitUnknown means that the connection was lost while COMMIT was under way: the
// transaction may or may not have happened. Whoever must know reads its ids back, after
// taking a lock that the lost transaction held (a plain read misses a commit in flight).
var ErrCommitUnknown = errors.New("pg: the outcome of COMMIT is unknown")

// errAborted means that the function given to InTx swallowed a statement's error.
var errAborted = errors.New("pg: the transaction had failed before COMMIT; a statement's error was ignored")

// Constraint is the name of the constraint that err violates, or "".
func Constraint(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.ConstraintName
	}
	return ""
}

// CAS turns "no row had the expected version" into fault.Stale.
func CAS(n int64, err error) error {
	if err == nil && n == 0 {
		return fault.New(fault.Stale, "This was changed in the meantime. Read it again and retry.")
	}
	return err
}

// retryable are the errors after which the same transaction, run again, may succeed.
func retryable(err error) bool {
	switch sqlState(err) {
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return true
	}
	return false
}

func sqlState(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

// lost reports whether err says that the connection, not the statement, failed.
func lost(err error) bool {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		// connection_exception, operator_intervention (but not a cancelled statement),
		// too_many_connections, and the two idle time-outs.
		return strings.HasPrefix(pe.Code, "08") || strings.HasPrefix(pe.Code, "57P") || pe.Code == "53300" || pe.Code == "25P03"
	}
	var ce *pgconn.ConnectError
	var ne net.Error
	return errors.As(err, &ce) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &ne) || errors.Is(err, sql.ErrConnDone) || closedText(err)
}

// closedText catches pgconn's unexported error for a statement on a dead connection.
func closedText(err error) bool { return err != nil && strings.Contains(err.Error(), "conn closed") }

// mapLost makes a lost connection or a statement cut by the server's time-out a fault that
// the caller may retry after. A caller that gave up itself keeps its own error.
func mapLost(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if gone := ctx.Err(); gone != nil {
		if lost(err) && !errors.Is(err, gone) { // a second statement on the connection that it closed
			return fmt.Errorf("%w: %w", gone, err)
		}
		return err
	}
	var f *fault.Error
	if errors.As(err, &f) || !lost(err) && sqlState(err) != "57014" {
		return err
	}
	return unavailable(err)
}

func unavailable(cause error) error {
	f := fault.Wrap(fault.Unavailable, "The database does not answer right now. Retry in a moment.", cause)
	f.RetryAfter = time.Second
	return f
}
