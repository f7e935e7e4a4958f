package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// database/sql's own Tx hides what matters here (COMMIT that answers ROLLBACK, a COMMIT cut
// by the caller's context), so BEGIN, COMMIT and ROLLBACK are sent by hand.

// start opens a transaction and sets its scope in one round trip. The settings are local
// to the transaction: nothing of them stays on the connection.
func start(ctx context.Context, conn *sql.Conn, s Scope) error {
	return raw(conn, func(pc *pgconn.PgConn) error {
		org, err := pc.EscapeString(s.Org)
		if err != nil {
			return fmt.Errorf("the scope's org: %w", err)
		}
		mode, operator := "ISOLATION LEVEL READ COMMITTED", "off"
		if s.Serializable {
			mode = "ISOLATION LEVEL SERIALIZABLE"
		}
		if s.ReadOnly {
			mode += " READ ONLY"
		}
		if s.Operator {
			operator = "on"
		}
		_, err = pc.Exec(ctx, "BEGIN "+mode+"; SELECT set_config('weir.org', '"+org+"', true), set_config('weir.operator', '"+operator+"', true)").ReadAll()
		return err
	})
}

// commit sends COMMIT and makes sure of its outcome.
func commit(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitGrace)
	defer cancel()
	var tag string
	err := raw(conn, func(pc *pgconn.PgConn) error {
		results, err := pc.Exec(ctx, "COMMIT").ReadAll()
		if err == nil && len(results) > 0 {
			tag = results[0].CommandTag.String()
		}
		return err
	})
	var pe *pgconn.PgError
	switch {
	case err == nil && tag == "COMMIT":
		return nil
	case err == nil:
		return errAborted // the server answers ROLLBACK
	case errors.As(err, &pe) && pe.Severity == "ERROR":
		return fmt.Errorf("commit: %w", err) // a deferred constraint, a serialization failure: it did not happen
	}
	discard(conn)
	if pgconn.SafeToRetry(err) || errors.Is(err, sql.ErrConnDone) {
		return unavailable(fmt.Errorf("commit was not sent: %w", err)) // the server rolls back
	}
	return unavailable(fmt.Errorf("%w: %w", ErrCommitUnknown, err))
}

// rollback ends the transaction even if the caller has gone; if that fails, the connection
// is thrown away and the server rolls back.
func rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := raw(conn, func(pc *pgconn.PgConn) error {
		if _, err := pc.Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
			return err
		}
		if pc.TxStatus() != 'I' {
			return driver.ErrBadConn
		}
		return nil
	})
	if err != nil {
		discard(conn)
	}
}

// discard closes the connection instead of returning it to the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

func raw(conn *sql.Conn, fn func(*pgconn.PgConn) error) error {
	var inner error
	err := conn.Raw(func(dc any) error {
		c, ok := dc.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("unexpected driver connection %T", dc)
		}
		inner = fn(c.Conn().PgConn())
		return nil
	})
	if err != nil {
		return err
	}
	return inner
}
