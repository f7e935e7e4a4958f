// Package apikeys is `weir api-keys`.
package apikeys

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

// New returns `weir api-keys`.
func New(sh *shell.Shell) *cobra.Command {
	cmd := shell.Group("api-keys", "Keys for scripts", ls(sh), create(sh), rm(sh))
	cmd.Aliases = []string{"api-key", "keys"}
	return cmd
}

func ls(sh *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List API keys, newest first",
		Args:    shell.Args(cobra.NoArgs),
	}
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := sh.Client()
		if err != nil {
			return err
		}
		all, err := call.All(func(cursor *string) ([]tenantapi.APIKey, *string, error) {
			r, err := c.Tenant.ListAPIKeysWithResponse(cmd.Context(), &tenantapi.ListAPIKeysParams{Limit: &call.PageSize, Cursor: cursor})
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
		return format.Write(sh.Out, tenantapi.APIKeyList{Items: all}, func(p *output.Page) {
			t := p.Table("ID", "NAME", "ROLE", "PROJECT", "KEY", "DISABLED", "CREATED", "EXPIRES", "LAST USED")
			for _, k := range all {
				t.Row(k.ID, k.Name, k.Role, output.Or(k.Project), k.Hint, output.YesNo(k.Disabled), output.Time(k.CreatedAt), output.MaybeTime(k.ExpiresAt), output.MaybeTime(k.LastUsedAt))
			}
		})
	}
	return cmd
}

func rm(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use:     "rm KEY…",
		Aliases: []string{"delete"},
		Short:   "Revoke API keys for good, by id",
		Args:    shell.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := sh.Client()
			if err != nil {
				return err
			}
			for _, id := range args {
				if _, err := c.Tenant.DeleteAPIKeyWithResponse(cmd.Context(), id); err != nil {
					return err
				}
				sh.Sayf("revoked %s", id)
			}
			return nil
		},
	}
}
