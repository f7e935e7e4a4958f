package sim

import (
	"fmt"
	"regexp"

	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/services/agent/simgpu"
)

// NodeSpec is a simulated node as asked for.
type NodeSpec struct {
	Name      string
	Board     string // key of the geometry table
	Cards     int
	Policy    string // auto, whole or mig
	VCPUMilli int64
	RAMMiB    int64
}

// maxFleet is how many nodes one process hosts.
const maxFleet = 10_000

// ParseNodes reads a fleet such as `2xh100-80gb-sxm5:8,1xa100-40gb:4@mig`: how many nodes,
// which board, how many cards on each, and their policy (by default mig where changing the
// mode takes a reset, else auto). Nodes are called after their board and numbered:
// h100-80gb-sxm5-1, h100-80gb-sxm5-2, a100-40gb-1.
func ParseNodes(s string) ([]NodeSpec, error) {
	groups, err := simgpu.ParseNodes(s)
	if err != nil {
		return nil, fmt.Errorf("simulated nodes: %w", err)
	}
	var nodes []NodeSpec
	numbers := map[string]int{}
	for _, g := range groups {
		board, _ := mig.BoardByKey(g.Cards.Board)
		for range g.Nodes {
			numbers[board.Key]++
			vcpus, ram := shape(board, g.Cards.Count)
			nodes = append(nodes, NodeSpec{Name: fmt.Sprintf("%s-%d", board.Key, numbers[board.Key]), Board: board.Key, Cards: g.Cards.Count,
				Policy: g.Cards.Policy, VCPUMilli: vcpus, RAMMiB: ram})
		}
	}
	return nodes, checkFleet(nodes)
}

// shape is the CPU and memory of a usual server with that many cards of a board: eight
// H100 come with 192 vCPUs and 2 TiB.
func shape(b mig.Board, cards int) (vcpuMilli, ramMiB int64) {
	vcpus, gib := 12, 96
	switch {
	case b.MemoryMiB >= 40_000:
		vcpus, gib = 24, 256
	case b.MemoryMiB >= 22_000:
		vcpus, gib = 16, 128
	}
	return int64(vcpus*cards) * 1000, int64(gib*cards) * 1024
}

var nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

func checkFleet(nodes []NodeSpec) error {
	if len(nodes) > maxFleet {
		return fmt.Errorf("simulated nodes: at most %d, not %d", maxFleet, len(nodes))
	}
	seen := map[string]bool{}
	for _, n := range nodes {
		if err := n.check(); err != nil {
			return err
		}
		if seen[n.Name] {
			return fmt.Errorf("simulated nodes: the name %q is there twice", n.Name)
		}
		seen[n.Name] = true
	}
	return nil
}

func (n NodeSpec) check() error {
	switch _, known := mig.BoardByKey(n.Board); {
	case !nodeName.MatchString(n.Name):
		return fmt.Errorf("simulated node %q: a name is lower-case letters, digits, dots and dashes, at most 63", n.Name)
	case !known:
		return fmt.Errorf("simulated node %s: unknown board %q", n.Name, n.Board)
	case n.Cards < 1 || n.Cards > simgpu.MaxCards:
		return fmt.Errorf("simulated node %s: 1 to %d cards, not %d", n.Name, simgpu.MaxCards, n.Cards)
	case n.VCPUMilli < 1 || n.VCPUMilli > 100_000_000 || n.RAMMiB < 1 || n.RAMMiB > 1_000_000_000:
		return fmt.Errorf("simulated node %s: CPU and memory must be positive and no more than a machine has", n.Name)
	}
	return nil
}
