// Package command owns the command line as a whole: its tree, its global flags, and how a
// run ends. Each noun has a package of its own below.
package command

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/cli/internal/command/apikeys"
	"github.com/weirhq/weir/services/cli/internal/command/auth"
	"github.com/weirhq/weir/services/cli/internal/command/instances"
	"github.com/weirhq/weir/services/cli/internal/command/nodes"
	"github.com/weirhq/weir/services/cli/internal/command/offerings"
	"github.com/weirhq/weir/services/cli/internal/command/orgs"
	"github.com/weirhq/weir/services/cli/internal/command/prices"
	"github.com/weirhq/weir/services/cli/internal/command/run"
	"github.com/weirhq/weir/services/cli/internal/command/usage"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/session"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

// World is what surrounds one run of the command line.
type World struct {
	In        io.Reader
	Out, Err  io.Writer
	Getenv    func(string) string
	ConfigDir string // the user's; "" when there is none
	Clock     clock.Clock
	Signals   <-chan os.Signal // Ctrl-C and requests to end
}

// Run runs one command line and returns its exit code. more are further commands.
func Run(ctx context.Context, args []string, w World, more ...*cobra.Command) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sh := &shell.Shell{In: w.In, Out: w.Out, Err: w.Err, Getenv: w.Getenv, Clock: w.Clock, Sessions: &session.Store{Clock: w.Clock}}
	if w.ConfigDir != "" {
		sh.Sessions.Dir = filepath.Join(w.ConfigDir, "weir")
	}
	sh.OnInterrupt(func(os.Signal) { cancel() })
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case sig := <-w.Signals:
				sh.Interrupt(sig)
			}
		}
	}()
	root := New(sh, more...)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	failure.Report(w.Err, err)
	return failure.Code(err)
}

// New returns the tree of commands.
func New(sh *shell.Shell, more ...*cobra.Command) *cobra.Command {
	root := shell.Group("weir", "Rent GPUs, whole or in slices",
		auth.Login(sh), auth.Logout(sh), offerings.New(sh), run.New(sh), instances.New(sh), usage.New(sh), prices.New(sh), orgs.New(sh), nodes.New(sh), apikeys.New(sh))
	root.Long = "Rent GPUs, whole or in slices, run work on them, and see what it costs.\n\n" +
		"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 not allowed, 5 no capacity or over a limit.\n" +
		"Environment: WEIR_URL (the deployment), WEIR_TOKEN (an API key, instead of a login)."
	root.AddCommand(more...)
	root.PersistentFlags().StringVar(&sh.URLFlag, "url", "", "the deployment (default WEIR_URL, the last login, or "+shell.DefaultURL+")")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(sh.In)
	root.SetOut(sh.Out)
	root.SetErr(sh.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &failure.Usage{Err: errors.Join(err, errors.New("usage: "+cmd.UseLine()))}
	})
	return root
}
