// Package usage is `weir usage`.
package usage

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/meteringapi"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

type flags struct {
	from, to, granularity string
	groupBy               []string
}

// New returns `weir usage`.
func New(sh *shell.Shell) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "usage [--from TIME] [--to TIME] [--granularity day] [--group-by instance]",
		Short: "What was used, and what it cost",
		Long: "What was used and what it cost, running instances included. TIME is a date (2026-11-30, at 00:00 UTC), an RFC 3339\n" +
			"time, or how long ago (24h). Without --from and --to: the last 30 days.",
		Example: "  weir usage\n  weir usage --from 2026-11-01 --granularity month --group-by project,offering\n  weir usage --from 24h --granularity hour -o json",
		Args:    shell.Args(cobra.NoArgs),
	}
	cmd.Flags().StringVar(&f.from, "from", "", "the first instant counted")
	cmd.Flags().StringVar(&f.to, "to", "", "the first instant no longer counted (default now)")
	cmd.Flags().StringVar(&f.granularity, "granularity", "day", "hour, day or month")
	cmd.Flags().StringSliceVar(&f.groupBy, "group-by", []string{"instance"}, "project, offering, instance, several with commas, or none")
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p, err := f.params(sh.Clock.Now())
		if err != nil {
			return err
		}
		c, err := sh.Client()
		if err != nil {
			return err
		}
		rows, err := fetch(cmd.Context(), c, p)
		if err != nil {
			return err
		}
		sums, err := sum(rows)
		if err != nil {
			return err
		}
		by := []meteringapi.ListUsageParamsGroupBy{}
		if p.GroupBy != nil {
			by = *p.GroupBy
		}
		return format.Write(sh.Out, meteringapi.UsageList{Items: rows}, func(page *output.Page) { table(page, rows, sums, by) })
	}
	return cmd
}

func (f flags) params(now time.Time) (*meteringapi.ListUsageParams, error) {
	p := &meteringapi.ListUsageParams{Limit: &call.PageSize}
	g := meteringapi.ListUsageParamsGranularity(f.granularity)
	if !g.Valid() {
		return nil, failure.Usagef("--granularity %q must be hour, day or month", f.granularity)
	}
	p.Granularity = &g
	by := []meteringapi.ListUsageParamsGroupBy{}
	for _, name := range f.groupBy {
		b := meteringapi.ListUsageParamsGroupBy(strings.TrimSpace(name))
		if name == "none" && len(f.groupBy) == 1 {
			break
		}
		if !b.Valid() {
			return nil, failure.Usagef("--group-by %q must be of project, offering and instance, or none", name)
		}
		by = append(by, b)
	}
	if len(by) > 0 {
		p.GroupBy = &by
	}
	var err error
	if p.From, err = instant("--from", f.from, now); err != nil {
		return nil, err
	}
	p.To, err = instant("--to", f.to, now)
	return p, err
}

// instant reads a date, a time or a duration before now.
func instant(flag, s string, now time.Time) (*time.Time, error) {
	if s == "" {
		return nil, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			t = t.UTC()
			return &t, nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		t := now.Add(-d).UTC()
		return &t, nil
	}
	return nil, failure.Usagef("%s %q must be a date (2026-11-30), a time (2026-11-30T12:00:00Z) or how long ago (24h)", flag, s)
}

func fetch(ctx context.Context, c *call.Client, p *meteringapi.ListUsageParams) ([]meteringapi.UsageRow, error) {
	return call.All(func(cursor *string) ([]meteringapi.UsageRow, *string, error) {
		p.Cursor = cursor
		r, err := c.Metering.ListUsageWithResponse(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		list, err := call.Body(r.JSON200, nil)
		if err != nil {
			return nil, nil, err
		}
		return list.Items, list.NextCursor, nil
	})
}
