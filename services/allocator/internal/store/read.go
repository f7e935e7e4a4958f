package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/weirhq/weir/pkg/kit/idem"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// Instance reads one as its org sees it.
func (s *Store) Instance(ctx context.Context, org, id string) (*domain.Instance, error) {
	return s.instance(ctx, own(org), id)
}

// AnyInstance reads one of any org.
func (s *Store) AnyInstance(ctx context.Context, id string) (*domain.Instance, error) {
	return s.instance(ctx, operator, id)
}

func (s *Store) instance(ctx context.Context, scope pg.Scope, id string) (*domain.Instance, error) {
	var found []instanceRow
	err := s.api.InTx(ctx, scope, func(tx *pg.Tx) (err error) {
		found, err = list[instanceRow](tx, `SELECT `+withMembers+` FROM instance i WHERE i.id = $1`, id)
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read an instance: %w", err)
	case len(found) == 0:
		return nil, domain.NoInstance()
	}
	return fromInstance(found[0]), nil
}

// Instances reads a page, newest first. No org is for operators.
func (s *Store) Instances(ctx context.Context, org string, f domain.InstanceFilter) ([]*domain.Instance, error) {
	scope, w := own(org), &where{}
	if org == "" {
		scope = operator
		if f.Org != "" {
			w.and("i.org = ?", f.Org)
		}
	}
	if len(f.States) > 0 {
		w.and("i.state = ANY(?)", f.States)
	}
	if f.Name != "" {
		w.and("i.name = ?", f.Name)
	}
	if len(f.Labels) > 0 {
		labels, err := json.Marshal(f.Labels)
		if err != nil {
			return nil, fmt.Errorf("read the labels: %w", err)
		}
		w.and("i.labels @> ?::jsonb", string(labels))
	}
	if f.Project != "" {
		w.and("(i.project IS NULL OR i.project = ?)", f.Project)
	}
	if f.Node != "" {
		w.and("EXISTS (SELECT 1 FROM member x WHERE x.instance = i.id AND x.node = ?)", f.Node)
	}
	if !f.Deleted {
		w.and("i.deleted_at IS NULL")
	}
	if f.Before != nil {
		w.and("(i.created_at, i.id) < (?, ?)", *f.Before, f.BeforeID)
	}
	var rows []instanceRow
	err := s.api.InTx(ctx, scope, func(tx *pg.Tx) (err error) {
		rows, err = list[instanceRow](tx, `SELECT `+withMembers+` FROM (SELECT * FROM instance i`+w.String()+` ORDER BY created_at DESC, id DESC LIMIT `+strconv.Itoa(f.Limit)+`) i
			ORDER BY i.created_at DESC, i.id DESC`, w.args...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list instances: %w", err)
	}
	all := make([]*domain.Instance, 0, len(rows))
	for _, r := range rows {
		all = append(all, fromInstance(r))
	}
	return all, nil
}

// where gathers conditions; each ? becomes the next parameter.
type where struct {
	parts []string
	args  []any
}

func (w *where) and(condition string, args ...any) {
	for _, a := range args {
		w.args = append(w.args, a)
		condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(w.args)), 1)
	}
	w.parts = append(w.parts, condition)
}

func (w *where) String() string {
	if len(w.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.parts, " AND ")
}

// Events reads a page of an instance's history, oldest first.
func (s *Store) Events(ctx context.Context, org, instance string, after int64, limit int) ([]domain.Event, error) {
	var rows []transitionRow
	known := false
	err := s.api.InTx(ctx, own(org), func(tx *pg.Tx) (err error) {
		if err := scan(tx, []any{&known}, `SELECT EXISTS (SELECT 1 FROM instance WHERE id = $1)`, instance); err != nil {
			return err
		}
		rows, err = list[transitionRow](tx, `SELECT to_jsonb(t) FROM transition t WHERE instance = $1 AND seq > $2 ORDER BY seq LIMIT $3`, instance, after, limit)
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the history: %w", err)
	case !known:
		return nil, domain.NoInstance()
	}
	events := make([]domain.Event, 0, len(rows))
	for _, r := range rows {
		events = append(events, fromTransition(r))
	}
	return events, nil
}

// Usage reads what an org uses of its limits.
func (s *Store) Usage(ctx context.Context, org string) (domain.Usage, error) {
	var rows []usageRow
	err := s.api.InTx(ctx, own(org), func(tx *pg.Tx) (err error) {
		rows, err = list[usageRow](tx, `SELECT to_jsonb(u) FROM limit_usage u WHERE org = $1`, org)
		return err
	})
	if err != nil || len(rows) == 0 {
		return domain.Usage{}, err
	}
	return fromUsage(rows[0]), nil
}

// Answered implements domain.Reader.
func (s *Store) Answered(ctx context.Context, k domain.RequestKey) error {
	var rows []idem.Row
	err := s.api.InTx(ctx, own(k.Org), func(tx *pg.Tx) (err error) {
		rows, err = idem.Lookup(tx, keyOf(k))
		return err
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	return domain.Answer{Key: fromKey(rows[0].Key), Status: rows[0].Status, JSON: rows[0].Answer}.Repeat(k)
}

func keyOf(k domain.RequestKey) idem.Key {
	return idem.Key{Org: k.Org, Principal: k.Principal, Operation: k.Operation, Path: k.Path, Key: k.Key, Body: k.Body}
}

func fromKey(k idem.Key) domain.RequestKey {
	return domain.RequestKey{Org: k.Org, Principal: k.Principal, Operation: k.Operation, Path: k.Path, Key: k.Key, Body: k.Body}
}

// Specs reads what members of those instances run.
func (s *Store) Specs(ctx context.Context, instances []string) (map[string]domain.Spec, error) {
	type row struct {
		ID      string   `json:"id"`
		Image   *string  `json:"image"`
		Command []string `json:"command"`
		Env     *bytea   `json:"env_sealed"`
	}
	var rows []row
	err := s.work.InTx(ctx, pg.Scope{ReadOnly: true}, func(tx *pg.Tx) (err error) {
		rows, err = list[row](tx, `SELECT jsonb_build_object('id', id, 'image', image, 'command', command, 'env_sealed', env_sealed) FROM instance WHERE id = ANY($1)`, instances)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what runs: %w", err)
	}
	specs := map[string]domain.Spec{}
	for _, r := range rows {
		spec := domain.Spec{Image: str(r.Image), Command: r.Command}
		if r.Env != nil {
			spec.EnvSealed = *r.Env
		}
		specs[r.ID] = spec
	}
	return specs, nil
}
