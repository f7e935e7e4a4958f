package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"
)

// Scope says for whom a transaction runs. The zero Scope sees no org's rows on the api role.
type Scope struct {
	Org      string // rows of this org
	Operator bool   // rows of every org: only for what an operator or the service itself may do
	// Serializable asks for that isolation instead of READ COMMITTED.
	Serializable bool
	// ReadOnly refuses writes.
	ReadOnly bool
}

// Tx is a running transaction; its context is already bound.
type Tx struct {
	*gorm.DB
	after []func()
}

// AfterCommit runs fn once the transaction has certainly committed, before InTx returns.
func (tx *Tx) AfterCommit(fn func()) { tx.after = append(tx.after, fn) }

// Context is the context of the transaction.
func (tx *Tx) Context() context.Context { return tx.Statement.Context }

const (
	maxAttempts = 6 // the first and five retries
	// commitGrace is how long COMMIT may take once it was sent: giving up earlier, when the
	// caller does, would only make the outcome unknown.
	commitGrace = 10 * time.Second
)

// InTx runs fn in one transaction and commits. fn may run again after a serialization
// failure or a deadlock (up to five times), so it must keep its effects inside tx or set
// them anew each time. A lost connection is fault.Unavailable; see ErrCommitUnknown.
func (db *DB) InTx(ctx context.Context, s Scope, fn func(tx *Tx) error) error {
	return retry(ctx, func() error {
		conn, err := db.begin(ctx, s)
		if err != nil {
			return err
		}
		defer conn.Close()
		return db.finish(ctx, conn, fn)
	})
}

// retry runs once until it succeeds or fails for good.
func retry(ctx context.Context, once func() error) error {
	for attempt := 1; ; attempt++ {
		err := once()
		if err == nil || attempt == maxAttempts || !retryable(err) {
			return mapLost(ctx, err)
		}
		// 2–4 ms, 4–8 ms … : losers of a deadlock must not meet again at once.
		base := time.Millisecond << attempt
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (after %w)", ctx.Err(), err)
		case <-time.After(base + rand.N(base)):
		}
	}
}

// begin takes a connection and opens a transaction on it. A pooled connection that turns
// out to be dead (PostgreSQL restarted) is thrown away and another taken: nothing was done
// on it yet.
func (db *DB) begin(ctx context.Context, s Scope) (*sql.Conn, error) {
	for spare := db.pool.Stats().Idle + 1; ; spare-- {
		conn, err := db.pool.Conn(ctx)
		if err != nil {
			return nil, fmt.Errorf("take a connection: %w", err)
		}
		if err = start(ctx, conn, s); err == nil {
			return conn, nil
		}
		discard(conn)
		if ctx.Err() != nil || !lost(err) || spare == 0 {
			return nil, fmt.Errorf("begin: %w", err)
		}
	}
}

// finish runs fn on the begun transaction and ends it one way or the other.
func (db *DB) finish(ctx context.Context, conn *sql.Conn, fn func(tx *Tx) error) (err error) {
	open := true
	defer func() {
		if open { // fn failed or panicked
			rollback(ctx, conn)
		}
	}()
	tx := &Tx{DB: db.gorm.Session(&gorm.Session{NewDB: true, Context: ctx})}
	tx.Statement.ConnPool = &txConn{conn}
	if err := fn(tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("before commit: %w", err)
	}
	open = false
	if err := commit(ctx, conn); err != nil {
		return err
	}
	for _, f := range tx.after {
		f()
	}
	return nil
}

// txConn is the connection as gorm sees it: inside a transaction that only InTx may end.
// Being a TxCommitter makes gorm's nested Transaction a savepoint.
type txConn struct{ *sql.Conn }

var errOuter = errors.New("pg: only InTx ends its transaction")

func (*txConn) Commit() error   { return errOuter }
func (*txConn) Rollback() error { return errOuter }
