package orgs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/gatewayapi"
	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

// limitFlags are the limits an operator may set, in the order they are shown.
var limitFlags = []struct{ flag, field, what string }{
	{"gpue", "gpue", "GPU-equivalents in use at once"},
	{"instances", "instances", "instances at once"},
	{"vcpus", "vcpus", "CPU cores in use at once"},
	{"ram-mib", "ram_mib", "MiB of memory in use at once"},
}

func limits(sh *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "limits [ORG [--gpue N|unlimited] [--instances N|unlimited] …]",
		Short: "Limits and what is used of them; an operator sets those of any org",
		Long: "Without ORG: the limits of your own org and what is used of each. With ORG (operator): the limits of that org,\n" +
			"changed first when one of the flags says so.",
		Args: shell.Args(cobra.MaximumNArgs(1)),
	}
	for _, l := range limitFlags {
		cmd.Flags().String(l.flag, "", l.what+": a number, or unlimited")
	}
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		patch, err := patchOf(cmd)
		if err != nil {
			return err
		}
		c, err := sh.Client()
		if err != nil {
			return err
		}
		if len(args) == 0 {
			if patch != nil {
				return failure.Usagef("an operator sets the limits of an org: name it\nusage: %s", cmd.UseLine())
			}
			return mine(cmd.Context(), sh, c, format)
		}
		org, err := orgWith(cmd.Context(), sh, c, args[0], patch)
		if err != nil {
			return err
		}
		return format.Write(sh.Out, org.Limits, func(p *output.Page) {
			t := p.Table("RESOURCE", "LIMIT")
			t.Row("gpue", bound(org.Limits.Gpue))
			t.Row("instances", bound(org.Limits.Instances))
			t.Row("queued_instances", bound(org.Limits.QueuedInstances))
			t.Row("vcpus", bound(org.Limits.Vcpus))
			t.Row("ram_mib", bound(org.Limits.RAMMib))
		})
	}
	return cmd
}

func mine(ctx context.Context, sh *shell.Shell, c *call.Client, format *output.Format) error {
	r, err := c.Gateway.GetLimitsWithResponse(ctx)
	if err != nil {
		return err
	}
	all, err := call.Body(r.JSON200, nil)
	if err != nil {
		return err
	}
	return format.Write(sh.Out, all, func(p *output.Page) {
		t := p.Table("RESOURCE", "USED", "LIMIT")
		for _, l := range all.Items {
			t.Row(l.Resource, used(l), bound(l.Limit))
		}
	})
}

func used(l gatewayapi.Limit) string { return fmt.Sprint(l.Used) }

// orgWith reads an org, after changing it when there is something to change.
func orgWith(ctx context.Context, sh *shell.Shell, c *call.Client, id string, patch json.RawMessage) (*tenantapi.AdminOrg, error) {
	if patch == nil {
		r, err := c.Tenant.GetAdminOrgWithResponse(ctx, id)
		if err != nil {
			return nil, err
		}
		return call.Body(r.JSON200, nil)
	}
	r, err := c.Tenant.UpdateAdminOrgWithResponse(ctx, id, &tenantapi.UpdateAdminOrgParams{}, tenantapi.UpdateAdminOrgJSONRequestBody{Limits: &patch})
	if err != nil {
		return nil, err
	}
	if r.StatusCode() == http.StatusAccepted {
		sh.Sayf("saved; it will be in force shortly")
		return call.Body(r.JSON202, nil)
	}
	return call.Body(r.JSON200, nil)
}

var decimal = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,6})?$`)

// patchOf is the change that the flags ask for; nil without one.
func patchOf(cmd *cobra.Command) (json.RawMessage, error) {
	fields := map[string]any{}
	for _, l := range limitFlags {
		if !cmd.Flags().Changed(l.flag) {
			continue
		}
		v, err := cmd.Flags().GetString(l.flag)
		if err != nil {
			return nil, err
		}
		switch {
		case v == "unlimited":
			fields[l.field] = nil
		case decimal.MatchString(v):
			fields[l.field] = json.Number(v)
		default:
			return nil, failure.Usagef("--%s %q must be a number, or unlimited", l.flag, v)
		}
	}
	if len(fields) == 0 {
		return nil, nil
	}
	return json.Marshal(fields)
}

// bound writes a limit.
func bound[T any](v *T) string {
	if v == nil {
		return "unlimited"
	}
	return fmt.Sprint(*v)
}
