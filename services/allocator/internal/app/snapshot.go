package app

import (
	"context"
	"time"

	"github.com/weirhq/weir/services/allocator/internal/domain"
	"github.com/weirhq/weir/services/allocator/internal/place"
)

// Snapshot is the pool as placement sees it, for replay, and what is wrong with it.
type Snapshot struct {
	At          time.Time
	Incarnation string
	Pool        place.Snapshot
	Orphans     []domain.Orphan
	Violations  []Violation
}

// Violation is a broken invariant, of the pool or of the database.
type Violation struct {
	Code   string `json:"code"`
	Where  string `json:"where"`
	Detail string `json:"detail,omitempty"`
}

// Snapshot copies the pool between two batches and checks it, and the database with it.
func (a *App) Snapshot(ctx context.Context) (*Snapshot, error) {
	s := &Snapshot{At: domain.Ms(a.deps.Business.Now())}
	err := a.writer.look(ctx, func(m *memory) {
		s.Incarnation, s.Pool, s.Orphans = m.incarnation, m.pool.Snapshot(), nil
		for _, node := range sortedKeys(m.orphans) {
			for _, o := range m.orphans[node] {
				s.Orphans = append(s.Orphans, *o)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for _, v := range place.Check(s.Pool) {
		where := v.GPU
		if where == "" {
			where = v.Node
		}
		s.Violations = append(s.Violations, Violation{Code: "pool." + string(v.Code), Where: where, Detail: v.Member + " " + v.Seat + " " + v.Other})
	}
	broken, err := a.deps.Checker.Check(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range broken {
		s.Violations = append(s.Violations, Violation{Code: "db." + b.Code, Where: b.Where, Detail: b.Detail})
	}
	return s, nil
}
