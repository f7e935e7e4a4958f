package store

import (
	"strconv"
	"time"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

type gpuRow struct {
	ID            string
	Node          string
	UUID          string
	Idx           int
	Serial        string
	Board         string
	Product       string
	Model         string
	Arch          string
	MemoryMib     int64
	Sms           int
	Units         int
	MigMode       string
	ResetToToggle bool
	Profiles      column[[]domain.Profile]
	Policy        string
	State         string
	Cordoned      bool
	Version       int64
	NodeName      string
	NodeState     string
	Seen          column[*domain.CardSeen]
	SeenAt        *time.Time
}

const selectGPU = `SELECT g.*, n.name AS node_name, n.state AS node_state, s.cards -> g.uuid AS seen, s.at AS seen_at
FROM gpu g JOIN node n ON n.id = g.node LEFT JOIN node_seen s ON s.node = g.node `

func (r gpuRow) gpu() domain.GPU {
	g := domain.GPU{
		ID: r.ID, Node: r.Node, UUID: r.UUID, Model: r.Model, Policy: domain.Policy(r.Policy), State: domain.GPUState(r.State),
		Cordoned: r.Cordoned, Version: r.Version, NodeName: r.NodeName,
		Facts: domain.CardFacts{Index: r.Idx, Serial: r.Serial, Board: r.Board, Product: r.Product, Arch: r.Arch, MemoryMiB: r.MemoryMib,
			SMs: r.Sms, Units: r.Units, MIGMode: r.MigMode, ResetToToggle: r.ResetToToggle, Profiles: r.Profiles.V},
	}
	if r.Seen.V != nil && r.SeenAt != nil {
		g.Seen, g.SeenAt = *r.Seen.V, *r.SeenAt
	}
	return g
}

func (t *tx) gpus(where string, args ...any) ([]domain.GPU, error) {
	rows, err := many[gpuRow](t, "read cards", selectGPU+where, args...)
	gpus := make([]domain.GPU, 0, len(rows))
	for _, r := range rows {
		gpus = append(gpus, r.gpu())
	}
	return gpus, err
}

func (t *tx) GPU(id string) (domain.GPU, error) {
	r, err := one[gpuRow](t, "read card", "There is no such card.", selectGPU+`WHERE g.id = ?`, id)
	return r.gpu(), err
}

func (t *tx) GPUs(f domain.GPUFilter, p domain.Page) ([]domain.GPU, error) {
	node, idx, id := "", 0, ""
	if len(p.After) == 3 {
		node, id = p.After[0], p.After[2]
		idx, _ = strconv.Atoi(p.After[1]) // a cursor that we did not make starts anywhere
	}
	return t.gpus(`WHERE (? = '' OR g.state = ?) AND (? = '' OR g.model = ?) AND (? = '' OR g.node = ?)
  AND (g.node, g.idx, g.id) > (?, ?::int, ?) ORDER BY g.node, g.idx, g.id LIMIT ?`,
		f.State, f.State, f.Model, f.Model, f.Node, f.Node, node, idx, id, p.Limit)
}

func (t *tx) GPUsOf(node string) ([]domain.GPU, error) {
	return t.gpus(`WHERE g.node = ? ORDER BY g.idx, g.id`, node)
}

func (t *tx) AllGPUs() (map[string][]domain.GPU, error) {
	gpus, err := t.gpus(`ORDER BY g.node, g.idx, g.id`)
	byNode := map[string][]domain.GPU{}
	for _, g := range gpus {
		byNode[g.Node] = append(byNode[g.Node], g)
	}
	return byNode, err
}

func (t *tx) Elsewhere(node string, uuids []string) ([]domain.Elsewhere, error) {
	if len(uuids) == 0 {
		return nil, nil
	}
	rows, err := many[gpuRow](t, "read cards elsewhere", selectGPU+`WHERE g.uuid IN ? AND g.node <> ? ORDER BY g.id`, uuids, node)
	found := make([]domain.Elsewhere, 0, len(rows))
	for _, r := range rows {
		found = append(found, domain.Elsewhere{GPU: r.gpu(), NodeRetired: r.NodeState == string(domain.NodeRetired)})
	}
	return found, err
}

func (t *tx) SaveGPU(g *domain.GPU, at time.Time) error {
	f := g.Facts
	if g.Version == 0 {
		g.Version = 1
		_, err := t.exec("insert card", `INSERT INTO gpu (id, node, uuid, idx, serial, board, product, model, arch, memory_mib, sms, units, mig_mode,
  reset_to_toggle, profiles, policy, state, cordoned, first_seen_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			g.ID, g.Node, g.UUID, f.Index, f.Serial, f.Board, f.Product, g.Model, f.Arch, f.MemoryMiB, f.SMs, f.Units, f.MIGMode,
			f.ResetToToggle, column[[]domain.Profile]{f.Profiles}, g.Policy, g.State, g.Cordoned, at, at)
		return err
	}
	n, err := t.exec("update card", `UPDATE gpu SET node = ?, idx = ?, serial = ?, board = ?, product = ?, model = ?, arch = ?, memory_mib = ?, sms = ?,
  units = ?, mig_mode = ?, reset_to_toggle = ?, profiles = ?, policy = ?, state = ?, cordoned = ?, updated_at = ?, version = version + 1
WHERE id = ? AND version = ?`,
		g.Node, f.Index, f.Serial, f.Board, f.Product, g.Model, f.Arch, f.MemoryMiB, f.SMs,
		f.Units, f.MIGMode, f.ResetToToggle, column[[]domain.Profile]{f.Profiles}, g.Policy, g.State, g.Cordoned, at, g.ID, g.Version)
	if err := pg.CAS(n, err); err != nil {
		return err
	}
	g.Version++
	return nil
}
