package sim

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/services/agent/simgpu"
)

// fleetColumns are what a fleet file has, as its first line may say.
var fleetColumns = []string{"name", "board", "cards", "cpu_milli", "memory_mib"}

// ParseFleet reads a CSV of name,board,cards,cpu_milli,memory_mib, one node a line, with or
// without a line of column names. A board may carry a policy: a100-40gb@whole.
func ParseFleet(r io.Reader) ([]NodeSpec, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = len(fleetColumns)
	in.TrimLeadingSpace = true
	in.Comment = '#'
	var nodes []NodeSpec
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("fleet: %w", err)
		}
		line, _ := in.FieldPos(0)
		if len(nodes) == 0 && slices.Equal(record, fleetColumns) {
			continue
		}
		n, err := parseFleetLine(record)
		if err != nil {
			return nil, fmt.Errorf("fleet, line %d: %w", line, err)
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 {
		return nil, errors.New("fleet: no nodes in it")
	}
	if err := checkFleet(nodes); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return nodes, nil
}

func parseFleetLine(record []string) (NodeSpec, error) {
	var numbers [3]int64
	for i := range numbers {
		n, err := strconv.ParseInt(record[2+i], 10, 64)
		if err != nil {
			return NodeSpec{}, fmt.Errorf("%s must be a whole number, not %q", fleetColumns[2+i], record[2+i])
		}
		numbers[i] = n
	}
	key, policy, hasPolicy := strings.Cut(record[1], "@")
	cards := key + ":" + record[2]
	if hasPolicy {
		cards += "@" + policy
	}
	boards, err := simgpu.ParseBoards(cards)
	if err != nil {
		return NodeSpec{}, err
	}
	n := NodeSpec{Name: record[0], Board: boards.Board, Cards: boards.Count, Policy: boards.Policy, VCPUMilli: numbers[1], RAMMiB: numbers[2]}
	return n, n.check()
}
