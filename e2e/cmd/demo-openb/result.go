package main

import (
	"context"
	"log"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/e2e/internal/audit"
)

// result is the one line the demo prints.
type result struct {
	Demo            string         `json:"demo"`
	Trace           string         `json:"trace"`
	Rows            int            `json:"rows"`
	Clients         int            `json:"clients"`
	Cards           int            `json:"cards"`
	Placed          int            `json:"placed"`       // rows that got their cards, in the first or the second round
	PlacedFirst     int            `json:"placed_first"` // before the release
	Released        int            `json:"released"`
	Refused         map[string]int `json:"refused"` // rows refused for good, by code
	AllocatedGPUPct float64        `json:"allocated_gpu_pct"`
	RequestsPerS    float64        `json:"requests_per_s"`
	P50Ms           float64        `json:"p50_ms"`
	P99Ms           float64        `json:"p99_ms"`
	ViolationsCheck int            `json:"violations_check"`
	ViolationsSQL   int            `json:"violations_sql"`
}

// latencies fills the speed fields from the time of each request and the whole run.
func (r *result) latencies(took []time.Duration, all time.Duration) {
	slices.Sort(took)
	ms := func(q float64) float64 {
		return math.Round(float64(took[int(q*float64(len(took)-1))].Microseconds())/10) / 100
	}
	r.P50Ms, r.P99Ms = ms(0.50), ms(0.99)
	r.RequestsPerS = math.Round(float64(len(took))/all.Seconds()*10) / 10
}

// audit fills the fields that judge the pool after the run.
func (d *driver) audit(ctx context.Context, r *result) error {
	check, err := audit.Check(ctx, d.admin)
	if err != nil {
		return err
	}
	db, err := audit.Open(ctx, d.stack.Dir)
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	violations, err := db.Violations(ctx)
	if err != nil {
		return err
	}
	for _, v := range append(check, violations...) {
		log.Print(v)
	}
	used, err := db.WholeCardsInUse(ctx)
	if err != nil {
		return err
	}
	r.ViolationsCheck, r.ViolationsSQL = len(check), len(violations)
	r.AllocatedGPUPct = math.Round(float64(used)/float64(r.Cards)*10000) / 100
	return nil
}
