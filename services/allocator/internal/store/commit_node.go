package store

import (
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

func writeNodes(tx *pg.Tx, b *domain.Batch) error {
	var usage []nodeUsageRow
	for _, u := range b.Nodes {
		usage = append(usage, toNodeUsage(u))
	}
	var sessions []sessionRow
	for _, s := range b.Sessions {
		sessions = append(sessions, sessionRow{Node: s.Node, Boot: s.Boot, Seq: s.Seq, ProofAt: s.ProofAt, Incarnation: opt(s.Incarnation)})
	}
	var left []leftBootRow
	for _, l := range b.Left {
		left = append(left, leftBootRow{Node: l.Node, Boot: l.Boot, EndedAt: l.At})
	}
	var desired []desiredRow
	for node, g := range b.Desired {
		desired = append(desired, desiredRow{node, g})
	}
	var found, freed []orphanRow
	for _, o := range b.NewOrphans {
		found = append(found, toOrphan(o))
	}
	for _, o := range b.FreedOrphans {
		freed = append(freed, toOrphan(o))
	}
	// The capacity is not for the writer to raise: only what the node reports is.
	if err := put(tx, "write node_usage", `INSERT INTO node_usage AS u (node, vcpus_used, vcpus_reported, vcpus_capacity, ram_used, ram_reported, ram_capacity, shrunk)
		SELECT node, vcpus_used, vcpus_reported, greatest(vcpus_reported, vcpus_used), ram_used, ram_reported, greatest(ram_reported, ram_used), shrunk FROM jsonb_populate_recordset(NULL::node_usage, $1)
		ON CONFLICT (node) DO UPDATE SET vcpus_used = EXCLUDED.vcpus_used, vcpus_reported = EXCLUDED.vcpus_reported, ram_used = EXCLUDED.ram_used,
		ram_reported = EXCLUDED.ram_reported, shrunk = EXCLUDED.shrunk,
		vcpus_capacity = CASE WHEN u.vcpus_reported <> EXCLUDED.vcpus_reported THEN greatest(EXCLUDED.vcpus_reported, u.vcpus_used)
			ELSE least(u.vcpus_capacity, greatest(EXCLUDED.vcpus_reported, EXCLUDED.vcpus_used)) END,
		ram_capacity = CASE WHEN u.ram_reported <> EXCLUDED.ram_reported THEN greatest(EXCLUDED.ram_reported, u.ram_used)
			ELSE least(u.ram_capacity, greatest(EXCLUDED.ram_reported, EXCLUDED.ram_used)) END`, usage, true); err != nil {
		return err
	}
	if err := put(tx, "write sessions", `INSERT INTO node_session (node, boot, seq, proof_at, incarnation)
		SELECT node, boot, seq, proof_at, incarnation FROM jsonb_populate_recordset(NULL::node_session, $1)
		ON CONFLICT (node) DO UPDATE SET boot = EXCLUDED.boot, seq = EXCLUDED.seq, proof_at = EXCLUDED.proof_at, incarnation = EXCLUDED.incarnation`, sessions, true); err != nil {
		return err
	}
	if err := put(tx, "write left boots", `INSERT INTO node_boot (node, boot, ended_at) SELECT node, boot, ended_at FROM jsonb_populate_recordset(NULL::node_boot, $1)
		ON CONFLICT DO NOTHING`, left, false); err != nil {
		return err
	}
	if err := put(tx, "write generations", `INSERT INTO node_desired (node, generation) SELECT node, generation FROM jsonb_populate_recordset(NULL::node_desired, $1)
		ON CONFLICT (node) DO UPDATE SET generation = EXCLUDED.generation`, desired, true); err != nil {
		return err
	}
	if err := put(tx, "free orphans", `UPDATE orphan o SET released_at = r.released_at FROM jsonb_populate_recordset(NULL::orphan, $1) r WHERE o.id = r.id`, freed, true); err != nil {
		return err
	}
	return put(tx, "write orphans", `INSERT INTO orphan (id, node, gpu_uuid, member, boot, kind, profile, start, size, found_at, released_at)
		SELECT id, node, gpu_uuid, member, boot, kind, profile, start, size, found_at, released_at FROM jsonb_populate_recordset(NULL::orphan, $1)`, found, true)
}
