package nodes

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/inventoryapi"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

func gpus(sh *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gpus [NODE]",
		Short: "List cards with what is on them",
		Args:  shell.Args(cobra.MaximumNArgs(1)),
	}
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := sh.Client()
		if err != nil {
			return err
		}
		p := inventoryapi.ListGPUsParams{Limit: &call.PageSize}
		if len(args) == 1 {
			id, err := find(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			p.Node = &id
		}
		all, err := call.All(func(cursor *string) ([]inventoryapi.GPU, *string, error) {
			p.Cursor = cursor
			r, err := c.Inventory.ListGPUsWithResponse(cmd.Context(), &p)
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
		return format.Write(sh.Out, inventoryapi.GPUList{Items: all}, func(page *output.Page) {
			t := page.Table("NODE", "INDEX", "ID", "MODEL", "MEMORY", "POLICY", "MIG", "STATE", "LARGEST FREE", "LAYOUT")
			for _, g := range all {
				state := string(g.State)
				if g.Cordoned {
					state += ", cordoned"
				}
				t.Row(g.NodeName, g.Index, g.ID, g.Model, output.MiB(g.MemoryMib), g.Policy, g.MIGMode, state, output.Or(g.LargestFreeProfile), layout(g.Layout))
			}
		})
	}
	return cmd
}

// layout writes each slice as profile@start.
func layout(all []inventoryapi.Slice) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = string(s.Kind)
		if s.Profile != nil {
			words[i] = fmt.Sprintf("%s@%d", *s.Profile, s.Start)
		}
		if s.Foreign {
			words[i] += "(foreign)"
		}
	}
	if len(words) == 0 {
		return output.None
	}
	return strings.Join(words, " ")
}
