package instances

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/gatewayapi"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

func logs(sh *shell.Shell) *cobra.Command {
	var follow bool
	var tail int
	cmd := &cobra.Command{
		Use:   "logs [-f] [--tail N] INSTANCE",
		Short: "What an instance's command wrote",
		Args:  shell.Args(cobra.ExactArgs(1)),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the command has ended")
	cmd.Flags().IntVar(&tail, "tail", 0, "only the last N lines")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p := &gatewayapi.GetInstanceLogsParams{}
		if follow {
			p.Follow = &follow
		}
		if cmd.Flags().Changed("tail") {
			if tail < 0 {
				return failure.Usagef("--tail must not be negative")
			}
			p.Tail = &tail
		}
		c, err := sh.Client()
		if err != nil {
			return err
		}
		id, err := find(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		resp, err := c.Stream.GetInstanceLogs(cmd.Context(), id, p)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if _, err := io.Copy(sh.Out, resp.Body); err != nil {
			return fmt.Errorf("the output broke off: %w", err)
		}
		return nil
	}
	return cmd
}
