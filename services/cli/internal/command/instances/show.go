package instances

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

func show(sh *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show INSTANCE",
		Short: "Show one instance, by id or name",
		Args:  shell.Args(cobra.ExactArgs(1)),
	}
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := sh.Client()
		if err != nil {
			return err
		}
		id, err := find(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		i, err := get(cmd.Context(), c, id)
		if err != nil {
			return err
		}
		return format.Write(sh.Out, i, func(p *output.Page) { details(p, i) })
	}
	return cmd
}

func details(p *output.Page, i *allocatorapi.Instance) {
	t := p.Table()
	t.Row("ID", i.ID)
	t.Row("NAME", i.Name)
	t.Row("STATE", i.State)
	if i.StateReason != nil {
		t.Row("REASON", strings.TrimSpace(*i.StateReason+"  "+strings.TrimPrefix(output.Or(i.StateDetail), output.None)))
	}
	if i.ExitCode != nil {
		t.Row("EXIT CODE", *i.ExitCode)
	}
	t.Row("PROJECT", output.Or(i.Project))
	t.Row("OFFERING", i.Offering)
	t.Row("COUNT", i.Count)
	t.Row("VCPUS", i.Vcpus)
	t.Row("RAM", output.MiB(i.RAMMib))
	t.Row("IMAGE", output.Or(i.Image))
	if i.Command != nil {
		t.Row("COMMAND", quoted(*i.Command))
	}
	for _, k := range slices.Sorted(maps.Keys(i.Labels)) {
		t.Row("LABEL", k+"="+i.Labels[k])
	}
	t.Row("PRICE/H", output.Amount(i.Price.PerHour)+" "+i.Price.Currency+" ("+i.Price.Version+")")
	t.Row("COST SO FAR", cost(*i))
	t.Row("CREATED", output.Time(i.CreatedAt))
	t.Row("RUNNING", output.MaybeTime(i.RunningAt))
	t.Row("STOPPED", output.MaybeTime(i.StoppedAt))
	if i.DeletedAt != nil {
		t.Row("DELETED", output.Time(*i.DeletedAt))
	}
	if len(i.Slices) > 0 {
		slicesTable(p, i.Slices)
	}
}

func slicesTable(p *output.Page, all []allocatorapi.Slice) {
	t := p.Table("NODE", "GPU", "KIND", "PROFILE", "PLACE", "MEMORY", "DEVICE")
	for _, s := range all {
		place := output.None
		if s.Start != nil && s.Size != nil {
			place = fmt.Sprintf("%d+%d", *s.Start, *s.Size)
		}
		t.Row(s.NodeName, s.GPU, s.Kind, output.Or(s.Profile), place, output.MiB(s.MemoryMib), output.Or(s.DeviceUUID))
	}
}

// quoted writes a command line so that a shell would read it back.
func quoted(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
