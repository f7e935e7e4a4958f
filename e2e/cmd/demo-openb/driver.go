package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/weirhq/weir/e2e/internal/rest"
	"github.com/weirhq/weir/e2e/internal/stack"
)

// driver is the crowd of clients.
type driver struct {
	stack   *stack.Stack
	clients int
	tenant  *rest.Client
	admin   *rest.Client

	mu      sync.Mutex
	live    []string // instance ids, in the order they were placed
	refused map[string]int
	took    []time.Duration
}

// prepare signs a tenant up, lifts its limits and waits until the whole fleet is for rent.
func (d *driver) prepare(ctx context.Context, cards int) error {
	var err error
	if d.admin, err = d.stack.Admin(ctx); err != nil {
		return err
	}
	tenant, org, err := rest.New(d.stack.URL).Signup(ctx, "openb@example.com", "openb-trace-password", "openb")
	if err != nil {
		return err
	}
	d.tenant = tenant
	limits := map[string]any{"limits": map[string]any{"gpue": 1_000_000, "instances": 100_000}, "reason": "trace replay"}
	r, err := d.admin.Do(ctx, http.MethodPatch, "/v1/admin/orgs/"+org, limits)
	if err != nil {
		return err
	}
	if r.Status != http.StatusOK && r.Status != http.StatusAccepted {
		return fmt.Errorf("lift the limits: %d %s", r.Status, r.Raw)
	}
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		offerings, err := d.tenant.All(ctx, "/v1/offerings")
		if err != nil {
			return err
		}
		have := 0
		for _, o := range offerings {
			if o["kind"] == "whole" {
				n, _ := o["available"].(float64)
				have += int(n)
			}
		}
		if have == cards {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return fmt.Errorf("the fleet of %d cards was not for rent within a minute", cards)
}

// rent sends the rows in order from all clients and returns those that found no room.
func (d *driver) rent(ctx context.Context, rows []row) []row {
	var left []row
	next := make(chan row)
	var wg sync.WaitGroup
	for range d.clients {
		wg.Go(func() {
			for r := range next {
				if !d.rentOne(ctx, r) {
					d.mu.Lock()
					left = append(left, r)
					d.mu.Unlock()
				}
			}
		})
	}
	for _, r := range rows {
		next <- r
	}
	close(next)
	wg.Wait()
	return left
}

func (d *driver) rentOne(ctx context.Context, r row) bool {
	body := map[string]any{
		"name": r.name, "offerings": []string{"h100-80gb.whole", "a100-40gb.whole"}, "count": r.cards,
		"vcpus": float64(r.cpuMilli) / 1000, "ram_mib": r.memoryMiB,
	}
	began := time.Now()
	resp, err := d.tenant.Post(ctx, "/v1/instances", body)
	took := time.Since(began)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.took = append(d.took, took)
	switch {
	case err != nil:
		d.refused["error"]++
		log.Printf("%s: %v", r.name, err)
	case resp.Status == http.StatusCreated:
		d.live = append(d.live, resp.Str("id"))
		return true
	default:
		d.refused[resp.Str("code")]++
	}
	return false
}

func (d *driver) placed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live
}

// releaseThird stops every third instance and waits until their cards are free again.
func (d *driver) releaseThird(ctx context.Context) (int, error) {
	var gone, kept []string
	for i, id := range d.placed() {
		if i%3 == 0 {
			gone = append(gone, id)
		} else {
			kept = append(kept, id)
		}
	}
	for _, id := range gone {
		r, err := d.tenant.Do(ctx, http.MethodDelete, "/v1/instances/"+id, nil)
		if err != nil {
			return 0, err
		}
		if r.Status != http.StatusAccepted {
			return 0, fmt.Errorf("release %s: %d %s", id, r.Status, r.Raw)
		}
	}
	deadline := time.Now().Add(time.Minute)
	for _, id := range gone {
		for {
			r, err := d.tenant.Get(ctx, "/v1/instances/"+id)
			if err != nil {
				return 0, err
			}
			if s := r.Str("state"); s == "stopped" || s == "failed" {
				break
			}
			if time.Now().After(deadline) {
				return 0, fmt.Errorf("instance %s was not released within a minute: %s", id, r.Raw)
			}
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	d.mu.Lock()
	d.live = kept
	d.mu.Unlock()
	return len(gone), nil
}
