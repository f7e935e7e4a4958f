// Package offerings is `weir offerings`.
package offerings

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

// New returns `weir offerings`.
func New(sh *shell.Shell) *cobra.Command {
	var model, kind string
	cmd := &cobra.Command{
		Use:     "offerings [--gpu-model MODEL] [--kind whole|mig]",
		Aliases: []string{"offering"},
		Short:   "What can be rented, at which price, and how much of it right now",
		Args:    shell.Args(cobra.NoArgs),
	}
	cmd.Flags().StringVar(&model, "gpu-model", "", "only of this GPU model, such as h100-80gb")
	cmd.Flags().StringVar(&kind, "kind", "", "only whole cards (whole) or slices (mig)")
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := sh.Client()
		if err != nil {
			return err
		}
		all, err := call.All(func(cursor *string) ([]allocatorapi.Offering, *string, error) {
			p := &allocatorapi.ListOfferingsParams{Limit: &call.PageSize, Cursor: cursor}
			if model != "" {
				p.GPUModel = &model
			}
			if kind != "" {
				k := allocatorapi.OfferingKind(kind)
				p.Kind = &k
			}
			r, err := c.Allocator.ListOfferingsWithResponse(cmd.Context(), p)
			if err != nil {
				return nil, nil, err
			}
			list, err := call.Body(r.JSON200, nil)
			if err != nil {
				return nil, nil, err
			}
			return list.Items, list.NextCursor, nil
		})
		if err != nil {
			return err
		}
		return format.Write(sh.Out, allocatorapi.OfferingList{Items: all}, func(p *output.Page) { table(p, all) })
	}
	return cmd
}

func table(p *output.Page, all []allocatorapi.Offering) {
	t := p.Table("OFFERING", "GPU MEMORY", "SMS", "VCPUS", "RAM", "PRICE/H", "AVAILABLE")
	for _, o := range all {
		available := strconv.Itoa(o.Available)
		if o.AfterReconfigure > 0 {
			available += " (+" + strconv.Itoa(o.AfterReconfigure) + " after a change of MIG mode)"
		}
		t.Row(o.ID, output.MiB(o.GPUMemoryMib), output.Percent(o.SMFraction.String()), o.Vcpus, output.MiB(o.RAMMib), output.Amount(o.Price.PerHour)+" "+o.Price.Currency, available)
	}
}
