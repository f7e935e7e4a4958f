package instances

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

func events(sh *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events INSTANCE",
		Short: "What happened to an instance, oldest first",
		Args:  shell.Args(cobra.ExactArgs(1)),
	}
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := sh.Client()
		if err != nil {
			return err
		}
		id, err := find(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		all, err := call.All(func(cursor *string) ([]allocatorapi.InstanceEvent, *string, error) {
			r, err := c.Allocator.ListInstanceEventsWithResponse(cmd.Context(), id, &allocatorapi.ListInstanceEventsParams{Limit: &call.PageSize, Cursor: cursor})
			if err != nil {
				return nil, nil, err
			}
			l, err := call.Body(r.JSON200, nil)
			if err != nil {
				return nil, nil, err
			}
			return l.Items, l.NextCursor, nil
		})
		if err != nil {
			return err
		}
		return format.Write(sh.Out, allocatorapi.InstanceEventList{Items: all}, func(p *output.Page) {
			t := p.Table("AT", "STATE", "REASON", "BY", "BILLED FROM", "BILLED UNTIL", "DETAIL")
			for _, e := range all {
				by := string(e.Actor.Kind)
				if e.Actor.ID != "" {
					by += " " + e.Actor.ID
				}
				t.Row(output.Moment(e.At), e.State, output.Or(e.Reason), by, output.MaybeMoment(e.BillableFrom), output.MaybeMoment(e.BillableUntil), output.Or(e.Detail))
			}
		})
	}
	return cmd
}
