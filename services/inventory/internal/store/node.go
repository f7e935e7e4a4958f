package store

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

const noNode = "There is no such node."

type idRow struct{ ID string }

type nodeRow struct {
	ID           string
	Name         string
	Pool         string
	Region       string
	State        string
	StateReason  string
	Cordoned     bool
	Quarantined  bool
	Simulated    bool
	BootID       string
	Hostname     string
	AgentVersion string
	Runtime      column[*domain.Runtime]
	RefusingWork string
	VcpusMilli   int64
	RAMMib       int64 `gorm:"column:ram_mib"`
	DiskMib      int64
	Rack         *string
	Zone         *string
	Labels       column[map[string]string]
	Version      int64
	CreatedAt    time.Time
	RetiredAt    *time.Time
	SeenAt       *time.Time
	Ignored      int64
	Counters     column[map[string]int64]
	GPUs         int `gorm:"column:gpus"`
}

const selectNode = `SELECT n.*, p.region, s.at AS seen_at, COALESCE(s.ignored, 0) AS ignored, s.counters,
  (SELECT count(*) FROM gpu g WHERE g.node = n.id) AS gpus
FROM node n JOIN pool p ON p.name = n.pool LEFT JOIN node_seen s ON s.node = n.id `

func (r nodeRow) node() domain.Node {
	n := domain.Node{
		ID: r.ID, Name: r.Name, Pool: r.Pool, Region: r.Region, State: domain.NodeState(r.State), Reason: domain.Reason(r.StateReason),
		Cordoned: r.Cordoned, Quarantined: r.Quarantined, BootID: r.BootID,
		Facts: domain.NodeFacts{Simulated: r.Simulated, Hostname: r.Hostname, AgentVersion: r.AgentVersion, VCPUsMilli: r.VcpusMilli,
			RAMMiB: r.RAMMib, DiskMiB: r.DiskMib, Runtime: r.Runtime.V, RefusingWork: r.RefusingWork},
		Rack: text(r.Rack), Zone: text(r.Zone), Labels: r.Labels.V, Version: r.Version, CreatedAt: r.CreatedAt,
		Ignored: r.Ignored, Counters: r.Counters.V, GPUs: r.GPUs,
	}
	if r.RetiredAt != nil {
		n.RetiredAt = *r.RetiredAt
	}
	if r.SeenAt != nil {
		n.LastSeenAt = *r.SeenAt
	}
	return n
}

func (t *tx) oneNode(where string, args ...any) (domain.Node, error) {
	r, err := one[nodeRow](t, "read node", noNode, selectNode+where, args...)
	return r.node(), err
}

func (t *tx) nodes(where string, args ...any) ([]domain.Node, error) {
	rows, err := many[nodeRow](t, "read nodes", selectNode+where, args...)
	nodes := make([]domain.Node, 0, len(rows))
	for _, r := range rows {
		nodes = append(nodes, r.node())
	}
	return nodes, err
}

func (t *tx) Node(id string) (domain.Node, error) { return t.oneNode(`WHERE n.id = ?`, id) }

// lock takes the row first and reads afterwards: what a joined read returns beside the
// locked row would be from before the wait.
func (t *tx) lock(where string, args ...any) (domain.Node, error) {
	r, err := one[idRow](t, "lock node", noNode, `SELECT id FROM node WHERE `+where+` FOR UPDATE`, args...)
	if err != nil {
		return domain.Node{}, err
	}
	return t.Node(r.ID)
}

func (t *tx) LockNode(id string) (domain.Node, error) { return t.lock(`id = ?`, id) }

func (t *tx) LockName(name string) (domain.Node, error) {
	return t.lock(`name = ? AND state <> 'retired'`, name)
}

func (t *tx) NodeByName(name string) (domain.Node, error) {
	return t.oneNode(`WHERE n.name = ? ORDER BY (n.state = 'retired'), n.created_at DESC LIMIT 1`, name)
}

func (t *tx) Nodes(f domain.NodeFilter, p domain.Page) ([]domain.Node, error) {
	after := ""
	if len(p.After) == 1 {
		after = p.After[0]
	}
	return t.nodes(`WHERE (? = '' OR n.state = ?) AND (? = '' OR n.pool = ?) AND (? = '' OR n.name = ?) AND n.id > ? ORDER BY n.id LIMIT ?`,
		f.State, f.State, f.Pool, f.Pool, f.Name, f.Name, after, p.Limit)
}

func (t *tx) AllNodes() ([]domain.Node, error) { return t.nodes(`ORDER BY n.id`) }

func (t *tx) SilentNodes(cutoff, future time.Time) ([]string, error) {
	rows, err := many[idRow](t, "read silent nodes",
		`SELECT n.id FROM node n JOIN node_seen s ON s.node = n.id WHERE n.state = 'ready' AND (s.at < ? OR s.at > ?) ORDER BY s.at`, cutoff, future)
	ids := make([]string, 0, len(rows))
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids, err
}

func (t *tx) InsertNode(n domain.Node) error {
	_, err := t.exec("insert node", `INSERT INTO node (id, name, pool, state, state_reason, version, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, n.ID, n.Name, n.Pool, n.State, n.Reason, n.Version, n.CreatedAt, n.CreatedAt)
	if pg.Constraint(err) == "node_name" {
		return fault.Wrap(fault.Conflict, fmt.Sprintf("Another machine joins as %s at this moment. Try again.", n.Name), err)
	}
	return err
}

func (t *tx) UpdateNode(n *domain.Node, at time.Time) error {
	affected, err := t.exec("update node", `UPDATE node SET state = ?, state_reason = ?, cordoned = ?, quarantined = ?, simulated = ?, boot_id = ?,
  hostname = ?, agent_version = ?, runtime = ?, refusing_work = ?, vcpus_milli = ?, ram_mib = ?, disk_mib = ?, rack = ?, zone = ?, labels = ?,
  retired_at = ?, updated_at = ?, version = version + 1 WHERE id = ? AND version = ?`,
		n.State, n.Reason, n.Cordoned, n.Quarantined, n.Facts.Simulated, n.BootID,
		n.Facts.Hostname, n.Facts.AgentVersion, column[*domain.Runtime]{n.Facts.Runtime}, n.Facts.RefusingWork, n.Facts.VCPUsMilli, n.Facts.RAMMiB,
		n.Facts.DiskMiB, null(n.Rack), null(n.Zone), column[map[string]string]{n.Labels}, instant(n.RetiredAt), at, n.ID, n.Version)
	if err := pg.CAS(affected, err); err != nil {
		return err
	}
	n.Version++
	return nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func null(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
