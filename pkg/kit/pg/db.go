package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// DB is a pool of connections of one role to one schema.
type DB struct {
	pool   *sql.DB
	gorm   *gorm.DB
	schema string
}

// Open connects as the schema's role with at most maxConns connections, and checks that it
// can.
func Open(ctx context.Context, d Database, schema string, r Role, maxConns int) (*DB, error) {
	cfg, err := d.config(schema, r)
	if err != nil {
		return nil, err
	}
	pool := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(scanUTC))
	pool.SetMaxOpenConns(max(maxConns, 1))
	pool.SetMaxIdleConns(max(maxConns, 1))
	pool.SetConnMaxIdleTime(5 * time.Minute)
	g, err := gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{
		SkipDefaultTransaction: true, // InTx is the transaction
		DisableAutomaticPing:   true,
		TranslateError:         false, // translation would drop the constraint's name
		Logger:                 logger.Discard,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open gorm on schema %s: %w", schema, err), pool.Close())
	}
	db := &DB{pool: pool, gorm: g, schema: schema}
	if err := db.Ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to PostgreSQL as %s: %w", cfg.User, err), pool.Close())
	}
	return db, nil
}

// Schema is the schema this pool works in.
func (db *DB) Schema() string { return db.schema }

// Ping asks the database for an answer.
func (db *DB) Ping(ctx context.Context) error { return mapLost(ctx, db.pool.PingContext(ctx)) }

// Close closes every connection; open transactions are rolled back by the server.
func (db *DB) Close() error { return db.pool.Close() }

// scanUTC makes timestamps arrive in UTC instead of the machine's zone.
func scanUTC(_ context.Context, c *pgx.Conn) error {
	c.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}
