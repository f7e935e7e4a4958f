package run

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

type flags struct {
	offerings   []string
	name        string
	project     string
	count       int
	vcpus       string
	ramMiB      int64
	image       string
	maxPrice    string
	env, labels []string
	detach, rm  bool
	quiet       bool
}

// New returns `weir run`.
func New(sh *shell.Shell) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "run --offering OFFERING [flags] -- COMMAND [ARG…]",
		Short: "Rent, run a command, show its output, and exit as it exits",
		Long: "Rents what is asked for, runs the command there and writes its output on standard output; states go to standard\n" +
			"error. Exits with the command's own code. Ctrl-C stops the instance and waits; a second one leaves it stopping.",
		Example: "  weir run --offering h100-80gb.1g.10gb -- nvidia-smi -L\n  weir run --offering h100-80gb.whole --count 2 --detach --name train -- python train.py",
		Args:    shell.Args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := f.body(cmd, args)
			if err != nil {
				return err
			}
			return start(cmd.Context(), sh, f, body)
		},
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false) // what follows the first word belongs to the command
	fs.StringSliceVar(&f.offerings, "offering", nil, "what to rent; several with commas mean any of them, the earlier the better")
	fs.StringVar(&f.name, "name", "", "a name for the instance (default made up)")
	fs.StringVar(&f.project, "project", "", "the project it belongs to")
	fs.IntVar(&f.count, "count", 1, "cards, all on one node")
	fs.StringVar(&f.vcpus, "vcpus", "", "CPU cores (default the offering's)")
	fs.Int64Var(&f.ramMiB, "ram-mib", 0, "memory in MiB (default the offering's)")
	fs.StringVar(&f.image, "image", "", "container image")
	fs.StringVar(&f.maxPrice, "max-price", "", "refuse when it costs more than this per hour")
	fs.StringArrayVar(&f.env, "env", nil, "KEY=VALUE in its environment; may be repeated")
	fs.StringArrayVar(&f.labels, "label", nil, "KEY=VALUE label; may be repeated")
	fs.BoolVarP(&f.detach, "detach", "d", false, "only rent; print the id")
	fs.BoolVar(&f.rm, "rm", false, "delete the instance when it has ended")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "do not show states")
	return cmd
}

var vcpusShape = regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,3})?$`)

// body is the request that the flags and arguments ask for.
func (f flags) body(cmd *cobra.Command, args []string) (allocatorapi.InstanceCreate, error) {
	b := allocatorapi.InstanceCreate{Name: f.name}
	switch {
	case len(f.offerings) == 0:
		return b, failure.Usagef("--offering is required; see: weir offerings\nusage: %s", cmd.UseLine())
	case f.detach && f.rm:
		return b, failure.Usagef("--detach and --rm exclude each other: nobody would be there to delete it")
	case f.count < 1:
		return b, failure.Usagef("--count must be at least 1")
	case cmd.Flags().Changed("ram-mib") && f.ramMiB < 1:
		return b, failure.Usagef("--ram-mib must be at least 1")
	case f.vcpus != "" && !vcpusShape.MatchString(f.vcpus):
		return b, failure.Usagef("--vcpus %q must be a number with at most 3 decimals", f.vcpus)
	}
	if b.Name == "" {
		b.Name = "run-" + strings.ToLower(rand.Text()[:8])
	}
	if len(f.offerings) == 1 {
		b.Offering = &f.offerings[0]
	} else {
		b.Offerings = &f.offerings
	}
	b.Count = &f.count
	b.Project, b.Image = given(f.project), given(f.image)
	if f.vcpus != "" {
		n := json.Number(f.vcpus)
		b.Vcpus = &n
	}
	if f.ramMiB > 0 {
		b.RAMMib = &f.ramMiB
	}
	if len(args) > 0 {
		b.Command = &args
	}
	if f.maxPrice != "" {
		b.MaxPricePerHour = &allocatorapi.PriceBound{}
		if err := b.MaxPricePerHour.FromPriceBound0(f.maxPrice); err != nil {
			return b, fmt.Errorf("--max-price: %w", err)
		}
	}
	var err error
	if b.Env, err = pairs("--env", f.env); err != nil {
		return b, err
	}
	b.Labels, err = pairs("--label", f.labels)
	return b, err
}

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// pairs reads KEY=VALUE flags.
func pairs(flag string, all []string) (*map[string]string, error) {
	if len(all) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, s := range all {
		k, v, ok := strings.Cut(s, "=")
		if !ok || k == "" {
			return nil, failure.Usagef("%s %q must look like KEY=VALUE", flag, s)
		}
		m[k] = v
	}
	return &m, nil
}
