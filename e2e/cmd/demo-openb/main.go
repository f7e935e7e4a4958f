// Command demo-openb rents and releases the whole-card requests of a production trace
// (openb, Weng et al., USENIX ATC'23) through the public REST door of its own `weir up`,
// and prints one JSON line: what was placed, what was refused and why, how full the pool
// was, how fast it went, and the violations found by the engine's Check and by SQL.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/weirhq/weir/e2e/internal/stack"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("demo-openb: ")
	var o options
	flag.StringVar(&o.binary, "weir", "bin/weir", "the built product")
	flag.StringVar(&o.dir, "dir", "", "folder of the trace (openb_pod_list_<trace>.csv)")
	flag.StringVar(&o.trace, "trace", "default", "which trace")
	flag.IntVar(&o.rows, "rows", 500, "how many whole-card requests, in trace order")
	flag.IntVar(&o.clients, "clients", 16, "how many clients at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	result, err := run(ctx, o)
	if err != nil {
		log.Print(err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Print(err)
		os.Exit(1)
	}
	if result.ViolationsCheck+result.ViolationsSQL > 0 {
		os.Exit(1)
	}
}

type options struct {
	binary, dir, trace string
	rows, clients      int
}

// run sends all rows, releases a third of what was placed, and then sends the rows that
// found no room the first time.
func run(ctx context.Context, o options) (result, error) {
	rows, err := readTrace(filepath.Join(o.dir, "openb_pod_list_"+o.trace+".csv"), o.rows)
	if err != nil {
		return result{}, err
	}
	dir, err := os.MkdirTemp("", "weir-openb-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL runs as another user below it
		return result{}, err
	}
	fleet, cards, err := writeFleet(dir, rows)
	if err != nil {
		return result{}, err
	}
	s, err := stack.New(stack.Options{Binary: o.binary, Dir: filepath.Join(dir, "data"), Args: []string{"--sim-runtime", "null", "--sim-fleet", fleet, "--rate-limit", "0"}})
	if err != nil {
		return result{}, err
	}
	if err := s.Start(ctx); err != nil {
		return result{}, err
	}
	defer func() {
		if err := s.Stop(); err != nil {
			log.Print(err)
		}
	}()
	d := &driver{stack: s, clients: o.clients, refused: map[string]int{}}
	if err := d.prepare(ctx, cards); err != nil {
		return result{}, err
	}

	began := time.Now()
	left := d.rent(ctx, rows)
	first := len(d.placed())
	released, err := d.releaseThird(ctx)
	if err != nil {
		return result{}, err
	}
	d.refused = map[string]int{}
	left = d.rent(ctx, left)
	took := time.Since(began)

	r := result{Demo: "openb", Trace: o.trace, Rows: len(rows), Clients: o.clients, Cards: cards, PlacedFirst: first, Released: released, Refused: d.refused}
	r.Placed = len(d.placed()) + released
	if r.Placed+len(left) != len(rows) {
		return result{}, fmt.Errorf("%d placed and %d refused do not make %d rows", r.Placed, len(left), len(rows))
	}
	r.latencies(d.took, took)
	return r, d.audit(ctx, &r)
}
