package simgpu

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

// MaxCards is how many cards a node may have.
const MaxCards = 64

// The card policies a node is set up with.
const (
	PolicyAuto  = "auto"
	PolicyWhole = "whole"
	PolicyMIG   = "mig"
)

// Boards are equal cards of one node.
type Boards struct {
	Board  string
	Count  int
	Policy string
}

// ParseBoards reads `h100-80gb-sxm5:8`, with `@whole`, `@mig` or `@auto` for the card policy: by default `@mig` where
// changing the mode takes a reset (Ampere), else `@auto`.
func ParseBoards(s string) (Boards, error) {
	rest, policy, hasPolicy := strings.Cut(s, "@")
	key, number, hasCount := strings.Cut(rest, ":")
	b := Boards{Board: key, Count: 1, Policy: policy}
	board, known := mig.BoardByKey(key)
	if !known {
		return Boards{}, fmt.Errorf("unknown board %q in %q", key, s)
	}
	if hasCount {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > MaxCards {
			return Boards{}, fmt.Errorf("%q: the number of cards must be 1 to %d", s, MaxCards)
		}
		b.Count = n
	}
	if !hasPolicy {
		b.Policy = defaultPolicy(board)
	}
	switch b.Policy {
	case PolicyAuto, PolicyWhole:
	case PolicyMIG:
		if board.Units == 0 {
			return Boards{}, fmt.Errorf("%q: this board cannot be cut", s)
		}
	default:
		return Boards{}, fmt.Errorf("%q: the card policy must be auto, whole or mig", s)
	}
	return b, nil
}

func defaultPolicy(b mig.Board) string {
	if b.ResetToToggle && b.Units > 0 {
		return PolicyMIG
	}
	return PolicyAuto
}

// Group is a number of equal nodes.
type Group struct {
	Nodes int
	Cards Boards
}

// MaxNodes is how many nodes one group may have.
const MaxNodes = 5000

// ParseNodes reads `2xh100-80gb-sxm5:8,1xa100-40gb:4`; without `Nx` it is one node.
func ParseNodes(s string) ([]Group, error) {
	var groups []Group
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		g := Group{Nodes: 1}
		if number, rest, ok := strings.Cut(part, "x"); ok {
			if n, err := strconv.Atoi(number); err == nil {
				if n < 1 || n > MaxNodes {
					return nil, fmt.Errorf("%q: the number of nodes must be 1 to %d", part, MaxNodes)
				}
				g.Nodes, part = n, rest
			}
		}
		cards, err := ParseBoards(part)
		if err != nil {
			return nil, err
		}
		g.Cards = cards
		groups = append(groups, g)
	}
	return groups, nil
}
