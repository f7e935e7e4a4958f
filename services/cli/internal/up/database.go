package up

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weirhq/weir/db"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/kit/pgserver"
)

// schemas are those of the services that weir up runs.
var schemas = []string{"tenant", "inventory", "allocator", "metering"}

// databaseName is the private server's database, and so part of its role names.
const databaseName = "weir"

// database is where the services keep their rows, and what runs it when that is ours.
type database struct {
	pg.Database
	server *pgserver.Server // nil with --database-url
	dir    string
	bins   []string // where the binaries are, when that was said
	log    *slog.Logger
}

// checkDatabase finds out, before anything is touched, whether there can be a database.
func checkDatabase(ctx context.Context, c *config) error {
	if c.databaseURL == "" {
		_, err := pgserver.Find(ctx, c.postgresBins()...)
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.databaseURL)
	if err != nil {
		return fmt.Errorf("--database-url cannot be reached: %s", oneLine(rootCause(err)))
	}
	return conn.Close(ctx)
}

// oneLine folds a driver's many-line message into a sentence's end.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// openDatabase starts or adopts the private server, or takes the one that is given, and
// brings every schema up to date.
func openDatabase(ctx context.Context, c *config, dir *dataDir, log *slog.Logger) (*database, error) {
	secret, err := dir.secret("database.roles")
	if err != nil {
		return nil, err
	}
	d := &database{Database: pg.Database{AdminDSN: c.databaseURL, Secret: []byte(secret)}, dir: dir.join("postgres"), bins: c.postgresBins(), log: log}
	if c.databaseURL == "" {
		if err := d.startPrivate(ctx, dir); err != nil {
			return nil, err
		}
	}
	if err := d.migrate(ctx); err != nil {
		return nil, errors.Join(err, d.Close(context.WithoutCancel(ctx)))
	}
	return d, nil
}

func (d *database) startPrivate(ctx context.Context, dir *dataDir) error {
	password, err := dir.secret("database.admin")
	if err != nil {
		return err
	}
	if err := pgserver.Init(ctx, d.dir, password, d.bins...); err != nil {
		return err
	}
	if d.server, err = pgserver.Start(ctx, d.dir, pgserver.Options{Bins: d.bins}); err != nil {
		return err
	}
	if err := createDatabase(ctx, d.server.DSN("postgres", password)); err != nil {
		return errors.Join(err, d.Close(context.WithoutCancel(ctx)))
	}
	d.AdminDSN = d.server.DSN(databaseName, password)
	return dir.write("secrets/database.url", d.AdminDSN+"\n")
}

func (d *database) migrate(ctx context.Context) error {
	cfg, err := pgx.ParseConfig(d.AdminDSN)
	if err != nil {
		return fmt.Errorf("--database-url is malformed: %w", err)
	}
	d.RolePrefix = cfg.Database
	return db.Migrate(ctx, d.AdminDSN, d.Options(), schemas...)
}

// createDatabase makes our database where it is missing.
func createDatabase(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect to the private PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var there bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, databaseName).Scan(&there); err != nil {
		return fmt.Errorf("look for the database: %w", err)
	}
	if there {
		return nil
	}
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+databaseName); err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	return nil
}

// superviseEvery is how often an adopted server, which has no exit to wait for, is looked at.
const superviseEvery = time.Second

// supervise starts the private server again whenever it has ended by itself: a power cut
// in small. It returns when ctx ends.
func (d *database) supervise(clk clock.Clock) host.Worker {
	return host.Worker{Name: "postgres", Run: func(ctx context.Context) error {
		if d.server == nil {
			<-ctx.Done()
			return nil
		}
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-d.server.Gone():
			case <-clk.After(superviseEvery):
			}
			s, err := pgserver.Start(ctx, d.dir, pgserver.Options{Bins: d.bins})
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				d.log.Error("PostgreSQL ended and does not start again", "err", err)
				if err := clock.Sleep(ctx, clk, superviseEvery); err != nil {
					return nil
				}
			case s.PID() != d.server.PID():
				d.log.Warn("PostgreSQL had ended and was started again", "pid", s.PID())
				d.server = s
			}
		}
	}}
}

// Close stops the private server; one that is given is left alone.
func (d *database) Close(ctx context.Context) error {
	if d.server == nil {
		return nil
	}
	return d.server.Stop(ctx, pgserver.Fast)
}
