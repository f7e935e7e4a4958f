// Package nodes is `weir nodes`, for operators.
package nodes

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/inventoryapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

// New returns `weir nodes`.
func New(sh *shell.Shell) *cobra.Command {
	cmd := shell.Group("nodes", "Servers with cards (operator)", ls(sh), token(sh), cordon(sh, "cordon", true), cordon(sh, "uncordon", false), gpus(sh))
	cmd.Aliases = []string{"node"}
	return cmd
}

func list(ctx context.Context, c *call.Client, p inventoryapi.ListNodesParams) ([]inventoryapi.Node, error) {
	p.Limit = &call.PageSize
	return call.All(func(cursor *string) ([]inventoryapi.Node, *string, error) {
		p.Cursor = cursor
		r, err := c.Inventory.ListNodesWithResponse(ctx, &p)
		if err != nil {
			return nil, nil, err
		}
		l, err := call.Body(r.JSON200, nil)
		if err != nil {
			return nil, nil, err
		}
		return l.Items, l.NextCursor, nil
	})
}

// find is the id of the node that a person means: by id, or by the name of a living one.
func find(ctx context.Context, c *call.Client, arg string) (string, error) {
	if strings.HasPrefix(arg, "nod_") {
		return arg, nil
	}
	all, err := list(ctx, c, inventoryapi.ListNodesParams{Name: &arg})
	if err != nil {
		return "", err
	}
	for _, n := range all {
		if n.State != inventoryapi.NodeStateRetired {
			return n.ID, nil
		}
	}
	return "", fault.New(fault.NotFound, "There is no node called "+arg+".")
}

func ls(sh *shell.Shell) *cobra.Command {
	var pool string
	var retired bool
	cmd := &cobra.Command{
		Use:     "ls [--pool POOL] [--retired]",
		Aliases: []string{"list"},
		Short:   "List nodes",
		Args:    shell.Args(cobra.NoArgs),
	}
	cmd.Flags().StringVar(&pool, "pool", "", "only of this pool")
	cmd.Flags().BoolVar(&retired, "retired", false, "retired ones too")
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := sh.Client()
		if err != nil {
			return err
		}
		p := inventoryapi.ListNodesParams{}
		if pool != "" {
			p.Pool = &pool
		}
		all, err := list(cmd.Context(), c, p)
		if err != nil {
			return err
		}
		shown := []inventoryapi.Node{}
		for _, n := range all {
			if retired || n.State != inventoryapi.NodeStateRetired {
				shown = append(shown, n)
			}
		}
		return format.Write(sh.Out, inventoryapi.NodeList{Items: shown}, func(p *output.Page) {
			t := p.Table("ID", "NAME", "POOL", "STATE", "GPUS", "VCPUS", "RAM", "LAST SEEN", "NOTES")
			for _, n := range shown {
				t.Row(n.ID, n.Name, n.Pool, n.State, n.Gpus, strconv.FormatFloat(n.Vcpus, 'f', -1, 64), output.MiB(n.RAMMib), output.MaybeTime(n.LastSeenAt), notes(n))
			}
		})
	}
	return cmd
}

func notes(n inventoryapi.Node) string {
	var all []string
	if n.StateReason != nil {
		all = append(all, *n.StateReason)
	}
	if n.Cordoned {
		all = append(all, "cordoned")
	}
	if n.Quarantined {
		all = append(all, "quarantined")
	}
	if n.RefusingWork != nil {
		all = append(all, *n.RefusingWork)
	}
	if n.Runtime != nil && n.Runtime.Isolation == inventoryapi.Weak {
		all = append(all, "weak isolation")
	}
	if n.Simulated {
		all = append(all, "simulated")
	}
	if len(all) == 0 {
		return output.None
	}
	return strings.Join(all, ", ")
}
