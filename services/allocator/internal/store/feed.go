package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// listed is how long ended members stay in the list of the feed: longer than the feed
// keeps items, so that a reader who lost its place finds every end it may have missed.
const listed = `interval '35 days'`

// ListMembers tells the history of every member that lives or ended lately, in order, for
// readers of the instances feed that lost their place. What they know already says nothing
// new to them.
func (s *Store) ListMembers(ctx context.Context) ([]outbox.Item, error) {
	type row struct {
		memberRow
		T    transitionRow `json:"t"`
		Last bool          `json:"last"`
	}
	var rows []row
	err := s.work.InTx(ctx, pg.Scope{ReadOnly: true}, func(tx *pg.Tx) (err error) {
		rows, err = list[row](tx, `SELECT to_jsonb(m) || jsonb_build_object('project', i.project, 't', to_jsonb(t), 'last', t.seq = max(t.seq) OVER (PARTITION BY m.id))
			FROM member m JOIN instance i ON i.id = m.instance JOIN transition t ON t.instance = m.instance AND t.member = m.id
			WHERE m.ended_at IS NULL OR m.ended_at > now() - `+listed+` ORDER BY t.seq`)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	items := make([]outbox.Item, 0, len(rows))
	for _, r := range rows {
		if !r.Last && r.T.BillableFrom == nil && r.T.BillableUntil == nil {
			continue
		}
		m := fromMember(r.memberRow)
		m.Project = str(r.Project)
		e := fromTransition(r.T)
		data, err := json.Marshal(domain.Step{Member: m, At: e.At, State: e.State, Reason: e.Reason, From: e.BillableFrom, Until: e.BillableUntil, Ended: e.State.Ended()}.Item())
		if err != nil {
			return nil, fmt.Errorf("list members: %w", err)
		}
		items = append(items, outbox.Item{ID: e.ID, Feed: domain.FeedName, Key: m.ID, Org: m.Org, At: e.At, Data: data})
	}
	return items, nil
}
