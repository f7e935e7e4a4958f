// Package prices is `weir prices`.
package prices

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/meteringapi"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

// New returns `weir prices`.
func New(sh *shell.Shell) *cobra.Command {
	var offering, currency string
	cmd := &cobra.Command{
		Use:   "prices [--offering OFFERING] [--currency CNY]",
		Short: "The public price list, with its versions",
		Args:  shell.Args(cobra.NoArgs),
	}
	cmd.Flags().StringVar(&offering, "offering", "", "only of this offering")
	cmd.Flags().StringVar(&currency, "currency", "", "only in this currency")
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := sh.Client()
		if err != nil {
			return err
		}
		all, err := call.All(func(cursor *string) ([]meteringapi.Price, *string, error) {
			p := &meteringapi.ListPricesParams{Limit: &call.PageSize, Cursor: cursor}
			if offering != "" {
				p.Offering = &offering
			}
			if currency != "" {
				p.Currency = &currency
			}
			r, err := c.Metering.ListPricesWithResponse(cmd.Context(), p)
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
		return format.Write(sh.Out, meteringapi.PriceList{Items: all}, func(p *output.Page) {
			t := p.Table("OFFERING", "PRICE/H", "FROM", "TO", "VERSION")
			for _, v := range all {
				t.Row(v.Offering, output.Amount(v.PerHour)+" "+v.Currency, output.Time(v.EffectiveFrom), output.MaybeTime(v.EffectiveTo), v.ID)
			}
		})
	}
	return cmd
}
