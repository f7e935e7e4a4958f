package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
)

// readyWithin is how long the services may take to answer /readyz after they started.
const readyWithin = 30 * time.Second

// stopWithin bounds an orderly stop, PostgreSQL's last checkpoint included.
const stopWithin = 25 * time.Second

// Command returns `weir up`.
func Command() *cobra.Command {
	var c config
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the whole product in one process, with simulated GPU nodes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.validate(cmd); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, &c, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	c.bind(cmd)
	return cmd
}

// run checks what it needs, starts everything, and stops it again when ctx ends or a part
// fails. What it started is gone when it returns.
func run(ctx context.Context, c *config, out, errOut io.Writer) (err error) {
	fleet, err := c.fleet()
	if err != nil {
		return err
	}
	if err := checkDatabase(ctx, c); err != nil {
		return err
	}
	dir, err := openDataDir(c.dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	// While the parts come and go they miss each other, as they must: only errors are news.
	quiet, usual := slog.LevelError, slog.LevelWarn
	if c.verbose {
		quiet, usual = slog.LevelDebug, slog.LevelDebug
	}
	var level slog.LevelVar
	level.Set(quiet)
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: &level}))

	accounts, err := loadAccounts(dir)
	if err != nil {
		return err
	}
	database, err := openDatabase(ctx, c, dir, log)
	if err != nil {
		return err
	}
	group, err := startAll(ctx, c, dir, database, accounts, fleet, log)
	if err != nil {
		return err
	}
	if err := awaitReady(ctx, group); err != nil {
		return errors.Join(err, stopAll(ctx, group))
	}
	level.Set(usual)
	banner(out, c, dir, accounts, len(fleet))
	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "\nStopping…")
		level.Set(quiet)
	case err = <-group.Failed():
	}
	return errors.Join(err, stopAll(ctx, group))
}

// stopAll stops in reverse order, on time that the ended ctx no longer has.
func stopAll(ctx context.Context, g *host.Group) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return g.Stop(ctx)
}

func awaitReady(ctx context.Context, g *host.Group) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		err := g.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case failed := <-g.Failed():
			return failed
		default:
		}
		if clock.Sleep(ctx, clock.Real{}, 20*time.Millisecond) != nil {
			return fmt.Errorf("the services did not become ready: %w", err)
		}
	}
}
