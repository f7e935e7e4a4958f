package sim_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/services/sim"
)

func TestParseNodes(t *testing.T) {
	t.Parallel()
	nodes, err := sim.ParseNodes("2xh100-80gb-sxm5:8,1xa100-40gb:4, l4-24gb, a100-40gb:2@whole")
	require.NoError(t, err)
	require.Equal(t, []sim.NodeSpec{
		{Name: "h100-80gb-sxm5-1", Board: "h100-80gb-sxm5", Cards: 8, Policy: "auto", VCPUMilli: 192_000, RAMMiB: 2 << 20},
		{Name: "h100-80gb-sxm5-2", Board: "h100-80gb-sxm5", Cards: 8, Policy: "auto", VCPUMilli: 192_000, RAMMiB: 2 << 20},
		{Name: "a100-40gb-1", Board: "a100-40gb", Cards: 4, Policy: "mig", VCPUMilli: 96_000, RAMMiB: 1 << 20},
		{Name: "l4-24gb-1", Board: "l4-24gb", Cards: 1, Policy: "auto", VCPUMilli: 16_000, RAMMiB: 128 << 10},
		{Name: "a100-40gb-2", Board: "a100-40gb", Cards: 2, Policy: "whole", VCPUMilli: 48_000, RAMMiB: 512 << 10},
	}, nodes)

	nodes, err = sim.ParseNodes("")
	require.NoError(t, err)
	require.Empty(t, nodes)
	for in, says := range map[string]string{
		"2xh200-999gb:8":                         "unknown board",
		"0xl4-24gb":                              "number of nodes",
		"l4-24gb:0":                              "number of cards",
		"l4-24gb:65":                             "number of cards",
		"l4-24gb:x":                              "number of cards",
		"l4-24gb@mig":                            "cannot be cut",
		"l4-24gb@shared":                         "card policy",
		"4000xl4-24gb,4000xl4-24gb,4000xl4-24gb": "at most 10000",
	} {
		_, err := sim.ParseNodes(in)
		require.ErrorContains(t, err, says, in)
	}
}

func TestParseFleet(t *testing.T) {
	t.Parallel()
	const body = "one,h100-80gb-sxm5,8,64000,1024\n# a remark\ntwo, a100-40gb@whole,2,32000,512\n"
	for _, header := range []string{"", "name,board,cards,cpu_milli,memory_mib\n"} {
		nodes, err := sim.ParseFleet(strings.NewReader(header + body))
		require.NoError(t, err)
		require.Equal(t, []sim.NodeSpec{
			{Name: "one", Board: "h100-80gb-sxm5", Cards: 8, Policy: "auto", VCPUMilli: 64_000, RAMMiB: 1024},
			{Name: "two", Board: "a100-40gb", Cards: 2, Policy: "whole", VCPUMilli: 32_000, RAMMiB: 512},
		}, nodes)
	}
	for in, says := range map[string]string{
		"":                                   "no nodes",
		"one,l4-24gb,1,1000\n":               "wrong number of fields",
		"one,l4-24gb,1,many,1\n":             "line 1: cpu_milli must be a whole number",
		"a,l4-24gb,1,1,1\nb,nothing,1,1,1\n": `line 2: unknown board "nothing"`,
		"a,l4-24gb,0,1,1\n":                  "number of cards",
		"a,l4-24gb,1,0,1\n":                  "must be positive",
		"A b,l4-24gb,1,1,1\n":                "lower-case",
		"a,l4-24gb,1,1,1\na,l4-24gb,1,1,1\n": "there twice",
	} {
		_, err := sim.ParseFleet(strings.NewReader(in))
		require.ErrorContains(t, err, says, in)
	}
}
