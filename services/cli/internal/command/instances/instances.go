// Package instances is `weir instances`.
package instances

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

// New returns `weir instances`.
func New(sh *shell.Shell) *cobra.Command {
	cmd := shell.Group("instances", "What you rent", ls(sh), show(sh), logs(sh), events(sh), stop(sh), rm(sh))
	cmd.Aliases = []string{"instance", "ins"}
	return cmd
}

// find is the id of the instance that a person means: by id, or by a name that only one has.
func find(ctx context.Context, c *call.Client, arg string) (string, error) {
	if strings.HasPrefix(arg, "ins_") {
		return arg, nil
	}
	all, err := list(ctx, c, allocatorapi.ListInstancesParams{Name: &arg})
	if err != nil {
		return "", err
	}
	switch len(all) {
	case 0:
		return "", fault.New(fault.NotFound, "There is no instance called "+arg+".")
	case 1:
		return all[0].ID, nil
	}
	ids := make([]string, len(all))
	for i, ins := range all {
		ids[i] = ins.ID + " (" + string(ins.State) + ")"
	}
	return "", failure.Usagef("%d instances are called %s; give the id: %s", len(all), arg, strings.Join(ids, ", "))
}

func list(ctx context.Context, c *call.Client, p allocatorapi.ListInstancesParams) ([]allocatorapi.Instance, error) {
	p.Limit = &call.PageSize
	return call.All(func(cursor *string) ([]allocatorapi.Instance, *string, error) {
		p.Cursor = cursor
		r, err := c.Allocator.ListInstancesWithResponse(ctx, &p)
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

func get(ctx context.Context, c *call.Client, id string) (*allocatorapi.Instance, error) {
	r, err := c.Allocator.GetInstanceWithResponse(ctx, id)
	if err != nil {
		return nil, err
	}
	return call.Body(r.JSON200, nil)
}
