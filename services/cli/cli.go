// Package cli owns the weir command line: everything a person types. It speaks to a
// deployment by its public API alone; only `weir up` and `weir serve` hold services.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/cli/internal/command"
	"github.com/weirhq/weir/services/cli/internal/up"
)

// Main runs one command line and returns its exit code.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	// Asking for SIGPIPE makes writing to a closed pipe an error instead of sudden death:
	// `weir run … | head` must stop what it rented.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)
	dir, err := os.UserConfigDir()
	if err != nil {
		dir = "" // no HOME: WEIR_TOKEN still works
	}
	return command.Run(context.Background(), args, command.World{
		In: in, Out: out, Err: errOut, Getenv: os.Getenv, ConfigDir: dir, Clock: clock.Real{}, Signals: signals,
	}, up.Command())
}
