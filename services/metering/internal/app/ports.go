package app

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/metering/internal/domain"
	"github.com/weirhq/weir/services/metering/internal/rate"
)

// Store is what the use cases read.
type Store interface {
	// Prices is a page of the price list; more says whether there is another one.
	Prices(ctx context.Context, q domain.PriceQuery) (page []domain.Price, more bool, err error)
	// View looks at an org's meters in one transaction; with operator, at all orgs'. fn may
	// run again.
	View(ctx context.Context, org string, operator bool, fn func(View) error) error
}

// View is a look at meters.
type View interface {
	// AsOf is how far the instances feed has been applied.
	AsOf() (time.Time, error)
	// Zone is the time zone of the org.
	Zone() (*time.Location, error)
	// Charges are the intervals that overlap [from, to), in the order of their starts. One
	// that is open ends at openUntil. project, unless empty, leaves others out.
	Charges(from, to, openUntil time.Time, project string) iter.Seq2[rate.Charge, error]
	// ChargesOf are all intervals of the named instances.
	ChargesOf(instances []string, openUntil time.Time, project string) ([]rate.Charge, error)
}

// Service is the use cases.
type Service struct {
	Store Store
	Clock clock.Clock // business time
	Log   *slog.Logger
	// Grace is how long after an instant facts about it may still come.
	Grace time.Duration
	// Freshen applies what the feeds hold, as far as that is quick: a report should know
	// what its reader has just done.
	Freshen func(ctx context.Context) error
}

// openUntil is how far running meters are known to have run: no further than the feed
// says, and not into the future.
func (s *Service) openUntil(asOf time.Time) time.Time {
	if now := s.Clock.Now(); now.Before(asOf) {
		return now
	}
	return asOf
}
