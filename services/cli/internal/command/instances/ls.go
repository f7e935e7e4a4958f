package instances

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

func ls(sh *shell.Shell) *cobra.Command {
	var states, labels []string
	var name string
	var deleted bool
	cmd := &cobra.Command{
		Use:     "ls [--state STATE] [--name NAME] [--label KEY=VALUE] [--deleted]",
		Aliases: []string{"list"},
		Short:   "List instances, newest first",
		Args:    shell.Args(cobra.NoArgs),
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "only in one of these states, such as running")
	cmd.Flags().StringVar(&name, "name", "", "only of exactly this name")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "only with this label, KEY=VALUE; may be repeated")
	cmd.Flags().BoolVar(&deleted, "deleted", false, "deleted ones too")
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p := allocatorapi.ListInstancesParams{}
		if len(states) > 0 {
			s := make(allocatorapi.State, len(states))
			for i, word := range states {
				if s[i] = allocatorapi.InstanceState(word); !s[i].Valid() {
					return failure.Usagef("--state %q is no state of an instance", word)
				}
			}
			p.State = &s
		}
		if name != "" {
			p.Name = &name
		}
		if len(labels) > 0 {
			p.Label = &labels
		}
		if deleted {
			p.Deleted = &deleted
		}
		c, err := sh.Client()
		if err != nil {
			return err
		}
		all, err := list(cmd.Context(), c, p)
		if err != nil {
			return err
		}
		return format.Write(sh.Out, allocatorapi.InstanceList{Items: all}, func(page *output.Page) {
			t := page.Table("ID", "NAME", "STATE", "OFFERING", "COUNT", "NODE", "PRICE/H", "COST", "CREATED")
			for _, i := range all {
				t.Row(i.ID, i.Name, i.State, i.Offering, i.Count, nodes(i), output.Amount(i.Price.PerHour)+" "+i.Price.Currency, cost(i), output.Time(i.CreatedAt))
			}
		})
	}
	return cmd
}

// nodes names the nodes of an instance, each once.
func nodes(i allocatorapi.Instance) string {
	var names []string
	seen := map[string]bool{}
	for _, s := range i.Slices {
		if !seen[s.NodeName] {
			seen[s.NodeName] = true
			names = append(names, s.NodeName)
		}
	}
	if len(names) == 0 {
		return output.None
	}
	return strings.Join(names, ",")
}

func cost(i allocatorapi.Instance) string {
	if i.CostSoFar == nil {
		return output.None
	}
	return output.Amount(i.CostSoFar.Amount) + " " + i.CostSoFar.Currency
}
