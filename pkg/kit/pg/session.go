package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Session is one connection kept for long, for what PostgreSQL ties to a connection:
// session advisory locks, and being terminated by process id. It counts against the pool's
// limit. Not safe for concurrent use.
type Session struct {
	db   *DB
	conn *sql.Conn
	pid  int
}

// Session takes a connection out of the pool until Close.
func (db *DB) Session(ctx context.Context) (*Session, error) {
	conn, err := db.pool.Conn(ctx)
	if err != nil {
		return nil, mapLost(ctx, fmt.Errorf("take a session: %w", err))
	}
	s := &Session{db: db, conn: conn}
	if err := conn.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&s.pid); err != nil {
		discard(conn)
		return nil, mapLost(ctx, fmt.Errorf("take a session: %w", err))
	}
	return s, nil
}

// PID is the server process behind the session.
func (s *Session) PID() int { return s.pid }

// TryLock takes the session advisory lock of that name in this schema, if it is free. It
// is held until Close or until the connection dies.
func (s *Session) TryLock(ctx context.Context, name string) (bool, error) {
	var got bool
	err := s.conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock(hashtextextended($1, 0))`, s.db.schema+"."+name).Scan(&got)
	return got, mapLost(ctx, err)
}

// InTx is DB.InTx on this very connection. Once the connection is lost the session is
// useless: nothing is begun on another.
func (s *Session) InTx(ctx context.Context, scope Scope, fn func(tx *Tx) error) error {
	return retry(ctx, func() error {
		if err := start(ctx, s.conn, scope); err != nil {
			if !errors.Is(err, sql.ErrConnDone) {
				rollback(ctx, s.conn)
			}
			return fmt.Errorf("begin: %w", err)
		}
		return s.db.finish(ctx, s.conn, fn)
	})
}

// Ping asks the session's own connection for an answer.
func (s *Session) Ping(ctx context.Context) error { return mapLost(ctx, s.conn.PingContext(ctx)) }

// Close ends the connection, and with it the locks.
func (s *Session) Close() error {
	discard(s.conn)
	return nil
}
