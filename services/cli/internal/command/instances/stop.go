package instances

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

func stop(sh *shell.Shell) *cobra.Command {
	return each(sh, &cobra.Command{
		Use:   "stop INSTANCE…",
		Short: "Stop instances; the meter ends now",
	}, "stopping", func(ctx context.Context, c *call.Client, id string) error {
		_, err := c.Allocator.StopInstanceWithResponse(ctx, id)
		return err
	})
}

func rm(sh *shell.Shell) *cobra.Command {
	return each(sh, &cobra.Command{
		Use:     "rm INSTANCE…",
		Aliases: []string{"delete"},
		Short:   "Stop instances and take them off the list",
	}, "deleting", func(ctx context.Context, c *call.Client, id string) error {
		_, err := c.Allocator.DeleteInstanceWithResponse(ctx, id)
		return err
	})
}

// each does something to every named instance; one that fails does not save the others.
func each(sh *shell.Shell, cmd *cobra.Command, doing string, do func(ctx context.Context, c *call.Client, id string) error) *cobra.Command {
	cmd.Args = shell.Args(cobra.MinimumNArgs(1))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := sh.Client()
		if err != nil {
			return err
		}
		var failed error
		for _, arg := range args {
			id, err := find(cmd.Context(), c, arg)
			if err == nil {
				err = do(cmd.Context(), c, id)
			}
			if errors.Is(err, context.Canceled) {
				return err
			}
			switch {
			case err == nil:
				sh.Sayf("%s %s", doing, id)
			case len(args) == 1:
				return err
			default:
				sh.Sayf("%s:", arg)
				failure.Report(sh.Err, err)
				failed = &failure.Exit{Code: failure.Code(err)}
			}
		}
		return failed
	}
	return cmd
}
