package store

import (
	"time"

	"github.com/weirhq/weir/services/inventory/internal/domain"
)

type countRow struct{ N int }

type seenRow struct {
	Node    string
	BootID  string
	Seq     int64
	Digest  []byte
	Facts   []byte
	Strikes int
	At      time.Time
}

func (t *tx) Heartbeat(node string, st domain.Status, at time.Time) (bool, error) {
	digest, facts := st.Digest(), st.FactsHash()
	n, err := t.exec("record heartbeat", `UPDATE node_seen s SET seq = ?, digest = ?, at = ?, cards = ?, counters = ?
FROM node n WHERE s.node = ? AND n.id = s.node AND n.state = 'ready' AND s.boot_id = ? AND s.seq < ? AND s.facts = ?`,
		st.Seq, digest[:], at, column[map[string]domain.CardSeen]{st.Observed()}, column[map[string]int64]{st.Counters},
		node, st.BootID, st.Seq, facts[:])
	return n == 1, err
}

func (t *tx) Seen(node string) (*domain.Seen, error) {
	rows, err := many[seenRow](t, "read last status", `SELECT node, boot_id, seq, digest, facts, strikes, at FROM node_seen WHERE node = ? FOR UPDATE`, node)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	r := rows[0]
	s := &domain.Seen{Node: r.Node, BootID: r.BootID, Seq: r.Seq, Strikes: r.Strikes, At: r.At}
	copy(s.Digest[:], r.Digest)
	copy(s.Facts[:], r.Facts)
	return s, nil
}

func (t *tx) OldBoot(node, boot string) (*domain.Boot, error) {
	rows, err := many[domain.Boot](t, "read old boot", `SELECT boot_id, seq, strikes FROM node_boot WHERE node = ? AND boot_id = ?`, node, boot)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

func (t *tx) SaveSeen(node string, st domain.Status, facts [32]byte, at time.Time) error {
	_, err := t.exec("keep superseded boot", `INSERT INTO node_boot (node, boot_id, seq, superseded_at)
SELECT node, boot_id, seq, ? FROM node_seen WHERE node = ? AND boot_id <> ? AND boot_id <> ''
ON CONFLICT (node, boot_id) DO UPDATE SET seq = GREATEST(node_boot.seq, excluded.seq), superseded_at = excluded.superseded_at`, at, node, st.BootID)
	if err != nil {
		return err
	}
	digest := st.Digest()
	_, err = t.exec("save status", `INSERT INTO node_seen AS s (node, boot_id, seq, digest, facts, at, cards, counters) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (node) DO UPDATE SET boot_id = excluded.boot_id, seq = excluded.seq, digest = excluded.digest, facts = excluded.facts, at = excluded.at,
  cards = excluded.cards, counters = excluded.counters, strikes = CASE WHEN s.boot_id = excluded.boot_id THEN s.strikes ELSE 0 END`,
		node, st.BootID, st.Seq, digest[:], facts[:], at, column[map[string]domain.CardSeen]{st.Observed()}, column[map[string]int64]{st.Counters})
	return err
}

func (t *tx) CountIgnored(node string, seen domain.Seen, old *domain.Boot) error {
	_, err := t.exec("count stale status", `UPDATE node_seen SET ignored = ignored + 1, strikes = ? WHERE node = ?`, seen.Strikes, node)
	if err != nil || old == nil {
		return err
	}
	_, err = t.exec("count strike", `UPDATE node_boot SET seq = ?, strikes = ? WHERE node = ? AND boot_id = ?`, old.Seq, old.Strikes, node, old.BootID)
	return err
}

func (t *tx) ForgetBoots(node string) error {
	if _, err := t.exec("forget boots", `DELETE FROM node_boot WHERE node = ?`, node); err != nil {
		return err
	}
	// The next status counts as a new boot's first, whatever its numbers.
	_, err := t.exec("forget last boot", `UPDATE node_seen SET boot_id = '', strikes = 0 WHERE node = ?`, node)
	return err
}

func (t *tx) InUse(node string) (int, error) {
	r, err := one[countRow](t, "count slices", "", `SELECT count(*) AS n
FROM node_seen s, jsonb_each(s.cards) c, jsonb_array_elements(c.value -> 'layout') l WHERE s.node = ? AND l ->> 'member' <> ''`, node)
	return r.N, err
}
