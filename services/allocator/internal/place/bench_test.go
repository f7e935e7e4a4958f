package place

import (
	"fmt"
	"testing"
)

// benchPool is 1,250 nodes of 8 cards (two models), about half rented out in slices and whole cards.
func benchPool(b *testing.B) *renter {
	r := &renter{pool: NewPool()}
	for i := range 1250 {
		board := h100
		if i%5 == 0 {
			board = "h200-141gb"
		}
		n := testNode(b, fmt.Sprintf("nod_%04d", i), board, 8)
		n.CPUMilli = int64(96_000 + 32_000*(i%3))
		r.pool.PutNode(n)
	}
	wants := []Want{slice("h100-80gb", "1g.10gb"), slice("h100-80gb", "3g.40gb"), whole("h100-80gb", 1), whole("h100-80gb", 4), slice("h200-141gb", "2g.35gb")}
	for i := range 4000 {
		r.rent(b, one(wants[i%len(wants)]))
	}
	return r
}

func BenchmarkPlan(b *testing.B) {
	r := benchPool(b)
	for name, req := range map[string]Request{
		"slice":  one(slice("h100-80gb", "1g.10gb")),
		"whole":  one(whole("h100-80gb", 2)),
		"gang":   {Nodes: 8, Offerings: []Want{whole("h100-80gb", 8)}},
		"refuse": one(whole("h100-80gb", 9)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.pool.Plan(req)
			}
		})
	}
}

func BenchmarkAvailable(b *testing.B) {
	r := benchPool(b)
	for b.Loop() {
		r.pool.Available(slice("h100-80gb", "1g.10gb"), 1<<30)
	}
}

func BenchmarkApplyAndUndo(b *testing.B) {
	r := benchPool(b)
	d, _ := r.pool.Plan(one(slice("h100-80gb", "1g.10gb")))
	ids := []IDs{{Member: "x", Seats: []string{"y"}}}
	for b.Loop() {
		_ = r.pool.Apply(d, ids)
		r.pool.Undo(ids)
	}
}

func BenchmarkPutNode(b *testing.B) {
	r := benchPool(b)
	n := r.pool.Snapshot().Nodes[600]
	for b.Loop() {
		r.pool.PutNode(n)
	}
}
