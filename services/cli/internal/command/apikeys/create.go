package apikeys

import (
	"crypto/rand"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

func create(sh *shell.Shell) *cobra.Command {
	var name, role, project string
	var expires time.Duration
	cmd := &cobra.Command{
		Use:     "create --name NAME [--role developer] [--project PROJECT] [--expires-in 720h]",
		Short:   "Mint an API key; standard output is the key, which is shown once",
		Example: "  WEIR_TOKEN=$(weir api-keys create --name ci --expires-in 24h)",
		Args:    shell.Args(cobra.NoArgs),
	}
	cmd.Flags().StringVar(&name, "name", "", "what it is for")
	cmd.Flags().StringVar(&role, "role", "developer", "owner, admin, developer, billing or viewer; no more than your own")
	cmd.Flags().StringVar(&project, "project", "", "bind it to this project")
	cmd.Flags().DurationVar(&expires, "expires-in", 0, "how long it works (default for ever)")
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body := tenantapi.CreateAPIKeyJSONRequestBody{Name: name, Role: tenantapi.Role(role)}
		switch {
		case name == "":
			return failure.Usagef("--name is required\nusage: %s", cmd.UseLine())
		case !body.Role.Valid():
			return failure.Usagef("--role %q must be owner, admin, developer, billing or viewer", role)
		case cmd.Flags().Changed("expires-in") && expires <= 0:
			return failure.Usagef("--expires-in must be longer than nothing")
		}
		if project != "" {
			body.Project = &project
		}
		if expires > 0 {
			at := sh.Clock.Now().Add(expires).Truncate(time.Second)
			body.ExpiresAt = &at
		}
		c, err := sh.Client()
		if err != nil {
			return err
		}
		r, err := c.Tenant.CreateAPIKeyWithResponse(cmd.Context(), &tenantapi.CreateAPIKeyParams{IdempotencyKey: rand.Text()}, body)
		if err != nil {
			return err
		}
		k, err := call.Body(r.JSON201, nil)
		if err != nil {
			return err
		}
		if k.Secret == nil {
			return errors.New("the answer has no key")
		}
		until := "for ever"
		if k.ExpiresAt != nil {
			until = "until " + output.MaybeTime(k.ExpiresAt)
		}
		sh.Sayf("made %s (%s), good %s; it is not shown again", k.ID, k.Name, until)
		return format.Write(sh.Out, k, func(p *output.Page) { p.Table().Row(*k.Secret) })
	}
	return cmd
}
