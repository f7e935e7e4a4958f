// Package orgs is `weir orgs`.
package orgs

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

// New returns `weir orgs`.
func New(sh *shell.Shell) *cobra.Command {
	cmd := shell.Group("orgs", "Orgs and their limits", ls(sh), limits(sh))
	cmd.Aliases = []string{"org"}
	return cmd
}

func ls(sh *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List all orgs (operator)",
		Args:    shell.Args(cobra.NoArgs),
	}
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := sh.Client()
		if err != nil {
			return err
		}
		all, err := call.All(func(cursor *string) ([]tenantapi.AdminOrg, *string, error) {
			r, err := c.Tenant.ListOrgsWithResponse(cmd.Context(), &tenantapi.ListOrgsParams{Limit: &call.PageSize, Cursor: cursor})
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
		return format.Write(sh.Out, tenantapi.AdminOrgList{Items: all}, func(p *output.Page) {
			t := p.Table("ID", "NAME", "CURRENCY", "STANDING", "BILLING", "GPUE", "INSTANCES", "CREATED")
			for _, o := range all {
				t.Row(o.ID, o.Name, o.Currency, o.Standing, o.BillingMode, bound(o.Limits.Gpue), bound(o.Limits.Instances), output.Time(o.CreatedAt))
			}
		})
	}
	return cmd
}
