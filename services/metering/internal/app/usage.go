package app

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/metering/internal/rate"
)

const (
	defaultReach = 30 * 24 * time.Hour
	maxReach     = 10 * 366 * 24 * time.Hour
)

// UsageInput is a question for the usage report.
type UsageInput struct {
	From, To *time.Time // nil: see window
	Step     rate.Step
	By       rate.Grouping
	After    *rate.Key
	Limit    int
}

// UsageRow is a row of the report.
type UsageRow struct {
	rate.Row
	// Provisional: a running meter is part of it, or facts about it may still come.
	Provisional bool
}

// Usage reports what the caller's org used, running meters included. A credential that is
// bound to a project sees that project's.
func (s *Service) Usage(ctx context.Context, in UsageInput) (rows []UsageRow, more bool, err error) {
	if in.To == nil || in.To.After(s.Clock.Now().Add(-s.Grace)) {
		if err := s.Freshen(ctx); err != nil {
			s.Log.WarnContext(ctx, "usage may lag: a feed could not be read to its head", "err", err)
		}
	}
	who := actor.From(ctx)
	err = s.Store.View(ctx, who.Org, false, func(v View) error {
		zone, err := v.Zone()
		if err != nil {
			return err
		}
		asOf, err := v.AsOf()
		if err != nil {
			return err
		}
		q := rate.Query{Step: in.Step, Zone: zone, By: in.By, After: in.After, Limit: in.Limit}
		if q.From, q.To, err = window(in, s.Clock.Now(), zone); err != nil {
			return err
		}
		found, another, err := rate.Rows(q, v.Charges(q.Resume(), q.To, s.openUntil(asOf), who.Project))
		if err != nil {
			return fmt.Errorf("report usage: %w", err)
		}
		rows, more = s.judge(found, asOf), another
		return nil
	})
	return rows, more, err
}

// judge marks the rows that may still change.
func (s *Service) judge(found []rate.Row, asOf time.Time) []UsageRow {
	settled := s.Clock.Now().Add(-s.Grace)
	if asOf.Before(settled) {
		settled = asOf
	}
	rows := make([]UsageRow, len(found))
	for i, r := range found {
		rows[i] = UsageRow{r, r.Open || r.End.After(settled)}
	}
	return rows
}

// window is the time that the report covers: until now by default, and from 30 days before
// its end, at the start of a period.
func window(in UsageInput, now time.Time, zone *time.Location) (from, to time.Time, err error) {
	to = now
	if in.To != nil {
		to = *in.To
	}
	from = in.Step.Floor(to.Add(-defaultReach), zone)
	if in.From != nil {
		from = *in.From
	}
	// Meters know milliseconds; so do the bounds.
	from, to = from.UTC().Truncate(time.Millisecond), to.UTC().Truncate(time.Millisecond)
	switch {
	case from.Year() < 2000 || to.Year() > 9000:
		return from, to, fault.InvalidField("from", "and `to` must be times that a report can cover")
	case !from.Before(to):
		return from, to, fault.InvalidField("from", "must be before `to`")
	case to.Sub(from) > maxReach:
		return from, to, fault.InvalidField("from", "must be at most ten years before `to`")
	}
	return from, to, nil
}
