package nodes

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/inventoryapi"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

func cordon(sh *shell.Shell, verb string, on bool) *cobra.Command {
	short := "Give a node nothing new; what runs there stays"
	if !on {
		short = "Let a node take work again"
	}
	return &cobra.Command{
		Use:   verb + " NODE…",
		Short: short,
		Args:  shell.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := sh.Client()
			if err != nil {
				return err
			}
			for _, arg := range args {
				id, err := find(cmd.Context(), c, arg)
				if err != nil {
					return err
				}
				if _, err := c.Inventory.UpdateNodeWithResponse(cmd.Context(), id, &inventoryapi.UpdateNodeParams{}, inventoryapi.UpdateNodeJSONRequestBody{Cordoned: &on}); err != nil {
					return err
				}
				sh.Sayf("%sed %s", verb, arg)
			}
			return nil
		},
	}
}
