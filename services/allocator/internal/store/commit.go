package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kit/idem"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// hold locks the lease row against a takeover and reads the epoch: the first statement of
// every write of the leader. A transaction that the leader leaves open (it was stopped) is
// ended by the server, so that a takeover does not wait for it.
const hold = `SELECT epoch, set_config('idle_in_transaction_session_timeout', '5s', true), set_config('lock_timeout', '10s', true) FROM lease FOR SHARE`

// Fence fails with domain.ErrFenced unless epoch still leads, and keeps it leading until
// the transaction ends.
func Fence(tx *pg.Tx, epoch int64) error {
	var have int64
	var ignored string
	if err := scan(tx, []any{&have, &ignored, &ignored}, hold); err != nil {
		return fmt.Errorf("hold the lease: %w", err)
	}
	if have != epoch {
		return domain.ErrFenced
	}
	return nil
}

// Commit writes a batch as one transaction of the writer of that epoch.
func (s *Store) Commit(ctx context.Context, epoch int64, b *domain.Batch) error {
	err := s.work.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		if err := Fence(tx, epoch); err != nil {
			return err
		}
		for _, write := range []func(*pg.Tx, *domain.Batch) error{
			writeUsage, writeAnswers, writeOfferings, writeInstances, writeMembers, writeSeats, writeNodes, writeHistory,
		} {
			if err := write(tx, b); err != nil {
				return err
			}
		}
		_, err := exec(tx, `UPDATE writer_mark SET epoch = $1, batch = $2`, epoch, b.No)
		return err
	})
	return translate(err)
}

// Outcome says whether that batch committed. It locks the lease row first, so that a commit
// in flight is over when it looks.
func (s *Store) Outcome(ctx context.Context, epoch, batch int64) (committed bool, err error) {
	err = s.work.InTx(ctx, pg.Scope{}, func(tx *pg.Tx) error {
		var have, markEpoch, mark int64
		var ignored string
		if err := scan(tx, []any{&ignored}, `SELECT set_config('lock_timeout', '10s', true)`); err != nil {
			return err
		}
		if err := scan(tx, []any{&have}, `SELECT epoch FROM lease FOR UPDATE`); err != nil {
			return err
		}
		if have != epoch {
			return domain.ErrFenced
		}
		err := scan(tx, []any{&markEpoch, &mark}, `SELECT epoch, batch FROM writer_mark`)
		committed = markEpoch == epoch && mark == batch
		return err
	})
	return committed, translate(err)
}

// writeUsage locks the rows of every org of the batch in sorted order, makes sure that they
// hold what the writer believed, and sets what is used now.
func writeUsage(tx *pg.Tx, b *domain.Batch) error {
	orgs := make([]string, 0, len(b.Usage))
	for org := range b.Usage {
		orgs = append(orgs, org)
	}
	if len(orgs) == 0 {
		return nil
	}
	slices.Sort(orgs)
	held, err := list[usageRow](tx, `SELECT to_jsonb(u) FROM limit_usage u WHERE org = ANY($1) ORDER BY org FOR UPDATE`, orgs)
	if err != nil {
		return fmt.Errorf("lock the limits: %w", err)
	}
	have := map[string]domain.Usage{}
	for _, r := range held {
		have[r.Org] = fromUsage(r)
	}
	var rows []usageRow
	for _, org := range orgs {
		if have[org] != b.Usage[org].Before {
			return fmt.Errorf("the use of org %s is %+v, not %+v: %w", org, have[org], b.Usage[org].Before, domain.ErrDrift)
		}
		rows = append(rows, toUsage(org, b.Usage[org].After))
	}
	return put(tx, "write limit_usage", `INSERT INTO limit_usage SELECT * FROM jsonb_populate_recordset(NULL::limit_usage, $1) ORDER BY org
		ON CONFLICT (org) DO UPDATE SET gpue_micro = EXCLUDED.gpue_micro, instances = EXCLUDED.instances,
		queued_instances = EXCLUDED.queued_instances, vcpus_milli = EXCLUDED.vcpus_milli, ram_mib = EXCLUDED.ram_mib`, rows, true)
}

func writeAnswers(tx *pg.Tx, b *domain.Batch) error {
	var rows []idem.Row
	for _, a := range b.Answers {
		rows = append(rows, idem.Row{Key: keyOf(a.Key), Status: a.Status, Answer: a.JSON})
	}
	return idem.InsertRows(tx, rows)
}

func writeOfferings(tx *pg.Tx, b *domain.Batch) error {
	var rows []offeringRow
	for _, o := range b.Offerings {
		rows = append(rows, toOffering(o, b.At))
	}
	return put(tx, "write offerings", `INSERT INTO offering (id, version, region, model, kind, profile, gpue_micro, memory_mib, sms, card_sms, vcpus_milli, ram_mib, created_at)
		SELECT id, version, region, model, kind, profile, gpue_micro, memory_mib, sms, card_sms, vcpus_milli, ram_mib, created_at
		FROM jsonb_populate_recordset(NULL::offering, $1)`, rows, true)
}

func writeInstances(tx *pg.Tx, b *domain.Batch) error {
	var fresh, changed []instanceRow
	for _, i := range b.NewInstances {
		fresh = append(fresh, toInstance(i))
	}
	for _, i := range b.Instances {
		changed = append(changed, toInstance(i))
	}
	const columns = `id, org, project, name, state, state_reason, state_detail, exit_code, offering, offering_version, kind, count, nodes, vcpus_milli,
		ram_mib, image, command, env_sealed, labels, price_version, per_hour_micro, currency, term, created_by_kind, created_by, created_at,
		running_at, stopped_at, delete_asked_at, deleted_at`
	if err := put(tx, "write new instances", `INSERT INTO instance (`+columns+`) SELECT `+columns+` FROM jsonb_populate_recordset(NULL::instance, $1)`, fresh, true); err != nil {
		return err
	}
	return put(tx, "write instances", `UPDATE instance i SET state = r.state, state_reason = r.state_reason, state_detail = r.state_detail,
		exit_code = r.exit_code, running_at = r.running_at, stopped_at = r.stopped_at, delete_asked_at = coalesce(i.delete_asked_at, r.delete_asked_at),
		deleted_at = coalesce(i.deleted_at, r.deleted_at)
		FROM jsonb_populate_recordset(NULL::instance, $1) r WHERE i.id = r.id`, changed, true)
}

func writeMembers(tx *pg.Tx, b *domain.Batch) error {
	var fresh, changed []memberRow
	for _, m := range b.NewMembers {
		fresh = append(fresh, toMember(m))
	}
	for _, m := range b.Members {
		changed = append(changed, toMember(m))
	}
	const columns = `id, org, instance, ordinal, node, state, reason, detail, exit_code, offering, offering_version, cards, gpue_micro, vcpus_milli,
		ram_mib, price_version, per_hour_micro, currency, assigned_at, prepare_by, running_at, boot, meter_from, meter_until, stop_cause,
		stop_asked_at, ended_at, counted, released_at, ghost`
	if err := put(tx, "write new members", `INSERT INTO member (`+columns+`) SELECT `+columns+` FROM jsonb_populate_recordset(NULL::member, $1)`, fresh, true); err != nil {
		return err
	}
	return put(tx, "write members", `UPDATE member m SET state = r.state, reason = r.reason, detail = r.detail, exit_code = r.exit_code,
		running_at = r.running_at, boot = r.boot, meter_from = r.meter_from, meter_until = r.meter_until, stop_cause = r.stop_cause,
		stop_asked_at = r.stop_asked_at, ended_at = r.ended_at, counted = r.counted, released_at = r.released_at, ghost = r.ghost
		FROM jsonb_populate_recordset(NULL::member, $1) r WHERE m.id = r.id`, changed, true)
}

// writeSeats frees before it takes: what was released in this batch is sold in it.
func writeSeats(tx *pg.Tx, b *domain.Batch) error {
	var fresh, changed []seatRow
	var live []liveRow
	note := func(s *domain.Seat) {
		if s.Live != nil {
			live = append(live, toLive(s, b.At))
		}
	}
	for _, m := range b.Members {
		for _, s := range m.Seats {
			changed = append(changed, toSeat(s))
			note(s)
		}
	}
	for _, m := range b.NewMembers {
		for _, s := range m.Seats {
			fresh = append(fresh, toSeat(s))
			note(s)
		}
	}
	if err := put(tx, "write seats", `UPDATE seat s SET boot = r.boot, released_at = r.released_at, cleaning = r.cleaning, released_by = r.released_by
		FROM jsonb_populate_recordset(NULL::seat, $1) r WHERE s.id = r.id AND (s.boot, s.released_at) IS DISTINCT FROM (r.boot, r.released_at)`, changed, false); err != nil {
		return err
	}
	const columns = `id, org, member, gpu, kind, span, profile, start, size, cross_org, share, memory_mib, assigned_at, boot, released_at, cleaning, released_by`
	if err := put(tx, "write new seats", `INSERT INTO seat (`+columns+`) SELECT `+columns+` FROM jsonb_populate_recordset(NULL::seat, $1)`, fresh, true); err != nil {
		return err
	}
	return put(tx, "write live seats", `INSERT INTO seat_live SELECT * FROM jsonb_populate_recordset(NULL::seat_live, $1)
		ON CONFLICT (seat) DO UPDATE SET device_uuid = EXCLUDED.device_uuid, gi = EXCLUDED.gi, ci = EXCLUDED.ci, sms = EXCLUDED.sms,
		memory_mib = EXCLUDED.memory_mib, at = EXCLUDED.at WHERE seat_live.device_uuid <> EXCLUDED.device_uuid`, live, false)
}

// writeHistory writes transitions in their order, and what the feed tells of them.
func writeHistory(tx *pg.Tx, b *domain.Batch) error {
	var events []transitionRow
	for _, e := range b.Events {
		events = append(events, toTransition(e))
	}
	// The order of the rows in the array is the order in which they happened.
	if err := put(tx, "write transitions", `INSERT INTO transition (id, org, instance, member, at, state, reason, detail, actor_kind, actor, billable_from, billable_until)
		SELECT r.id, r.org, r.instance, r.member, r.at, r.state, r.reason, r.detail, r.actor_kind, r.actor, r.billable_from, r.billable_until
		FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (doc, n), jsonb_populate_record(NULL::transition, e.doc) r ORDER BY e.n`, events, true); err != nil {
		return err
	}
	var items []itemRow
	for _, i := range b.Items {
		data, err := json.Marshal(i.Data)
		if err != nil {
			return fmt.Errorf("write a feed item: %w", err)
		}
		items = append(items, itemRow{ID: id.New(id.Item, i.At), Feed: domain.FeedName, Key: i.Key, Org: i.Org, At: i.At, Data: data})
	}
	return put(tx, "write feed items", `INSERT INTO outbox (id, feed, key, org, at, data)
		SELECT r.id, r.feed, r.key, r.org, r.at, r.data
		FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (doc, n), jsonb_populate_record(NULL::outbox, e.doc) r ORDER BY e.n`, items, true)
}
