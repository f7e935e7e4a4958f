package mig

import (
	"fmt"
	"slices"
	"strings"
)

// boards is the geometry table, sorted by key. Whole-card figures are what nvidia-smi shows with MIG off.
var boards = func() []Board {
	all := slices.Concat(eightUnitBoards(), []Board{a30(), rtxPro6000()}, uncutBoards())
	slices.SortFunc(all, func(a, b Board) int { return strings.Compare(a.Key, b.Key) })
	return all
}()

// eight holds what differs between boards of 8 units and 7 compute slices; their profiles, ids and starts are all alike.
type eight struct {
	gb  [4]int // the sizes in the names of 1, 2, 4 and 8 units
	mib [4]int // the memory of 1, 2, 4 and 8 units
	sms [6]int // 1g, 1g of double memory, 2g, 3g, 4g, 7g
}

// CI profile ids. rev1 fills a double-memory 1g whose SM count is its own rather than that of a 1g: a GH200 transcript shows
// it, the other boards follow from their SM counts. Agents look the id up (kubernetes-sigs/dra-driver-nvidia-gpu#1480).
const (
	ciOne   = 0
	ciTwo   = 1
	ciThree = 2
	ciFour  = 3
	ciSeven = 4
	ciRev1  = 7
)

func (e eight) profiles() []Profile {
	double := ciRev1
	if e.sms[1] != 0 && e.sms[1] == e.sms[0] {
		double = ciOne
	}
	name := func(compute, i int) string { return fmt.Sprintf("%dg.%dgb", compute, e.gb[i]) }
	every, even := []int{0, 1, 2, 3, 4, 5, 6}, []int{0, 2, 4, 6}
	return []Profile{
		{Name: name(1, 0), ID: 19, CIProfileID: ciOne, MemoryMiB: e.mib[0], SMs: e.sms[0], ComputeSlices: 1, Size: 1, Starts: every, Max: 7},
		{Name: name(1, 0) + "+me", ID: 20, CIProfileID: ciOne, MemoryMiB: e.mib[0], SMs: e.sms[0], ComputeSlices: 1, Size: 1, Starts: every, Max: 1, Media: true},
		{Name: name(1, 1), ID: 15, CIProfileID: double, MemoryMiB: e.mib[1], SMs: e.sms[1], ComputeSlices: 1, Size: 2, Starts: even, Max: 4},
		{Name: name(2, 1), ID: 14, CIProfileID: ciTwo, MemoryMiB: e.mib[1], SMs: e.sms[2], ComputeSlices: 2, Size: 2, Starts: []int{0, 2, 4}, Max: 3},
		{Name: name(3, 2), ID: 9, CIProfileID: ciThree, MemoryMiB: e.mib[2], SMs: e.sms[3], ComputeSlices: 3, Size: 4, Starts: []int{0, 4}, Max: 2},
		{Name: name(4, 2), ID: 5, CIProfileID: ciFour, MemoryMiB: e.mib[2], SMs: e.sms[4], ComputeSlices: 4, Size: 4, Starts: []int{0}, Max: 1},
		{Name: name(7, 3), ID: 0, CIProfileID: ciSeven, MemoryMiB: e.mib[3], SMs: e.sms[5], ComputeSlices: 7, Size: 8, Starts: []int{0}, Max: 1},
	}
}

// eightUnitBoards: placements of the B200, GB200, B300 and GB300 rows, and everything of H20, are assumed from the family;
// nobody published a listing of those cards.
func eightUnitBoards() []Board {
	ampere := [6]int{14, 14, 28, 42, 56, 98}
	hopper := [6]int{16, 26, 32, 60, 64, 132}
	row := func(key, model, product, arch string, mib, sms int, e eight) Board {
		return Board{Key: key, Model: model, Product: product, Arch: arch, MemoryMiB: mib, SMs: sms,
			Units: 8, ResetToToggle: arch == "ampere", Profiles: e.profiles()}
	}
	return []Board{
		row("a100-40gb", "a100-40gb", "NVIDIA A100-SXM4-40GB", "ampere", 40960, 108,
			eight{[4]int{5, 10, 20, 40}, [4]int{4864, 9856, 19968, 40192}, ampere}),
		row("a100-80gb", "a100-80gb", "NVIDIA A100-SXM4-80GB", "ampere", 81920, 108,
			eight{[4]int{10, 20, 40, 80}, [4]int{9856, 19968, 40192, 80640}, ampere}),
		row("h100-80gb-sxm5", "h100-80gb", "NVIDIA H100 80GB HBM3", "hopper", 81559, 132,
			eight{[4]int{10, 20, 40, 80}, [4]int{9984, 20096, 40448, 81152}, hopper}),
		row("h100-80gb-pcie", "h100-80gb-pcie", "NVIDIA H100 PCIe", "hopper", 81559, 114,
			eight{[4]int{10, 20, 40, 80}, [4]int{9984, 20096, 40448, 81152}, [6]int{14, 14, 30, 46, 62, 114}}),
		row("h100-94gb-nvl", "h100-94gb-nvl", "NVIDIA H100 NVL", "hopper", 95830, 132,
			eight{[4]int{12, 24, 47, 94}, [4]int{10880, 22016, 47232, 94848}, hopper}),
		row("h100-94gb-sxm5", "h100-94gb", "NVIDIA H100 (SXM5 94GB)", "hopper", 95830, 132,
			eight{[4]int{12, 24, 47, 94}, [4]int{10880, 22016, 47232, 94848}, hopper}),
		row("gh200-96gb", "gh200-96gb", "NVIDIA GH200 480GB", "hopper", 97871, 132,
			eight{[4]int{12, 24, 48, 96}, [4]int{11264, 23552, 47616, 95232}, hopper}),
		row("gh200-144gb", "gh200-144gb", "NVIDIA GH200 144G HBM3e", "hopper", 146831, 132,
			eight{[4]int{18, 36, 72, 144}, [4]int{17920, 36096}, [6]int{16, 26, 32}}),
		row("h20-96gb", "h20-96gb", "NVIDIA H20", "hopper", 97871, 78,
			eight{gb: [4]int{12, 24, 48, 96}}),
		row("h200-141gb", "h200-141gb", "NVIDIA H200", "hopper", 143771, 132,
			eight{[4]int{18, 35, 71, 141}, [4]int{16384, 33024, 71168, 143104}, hopper}),
		row("b200-180gb", "b200-180gb", "NVIDIA B200", "blackwell", 183359, 148,
			eight{[4]int{23, 45, 90, 180}, [4]int{22528, 45312}, [6]int{18, 30, 36}}),
		row("gb200-186gb", "gb200-186gb", "NVIDIA GB200", "blackwell", 189471, 152,
			eight{[4]int{23, 47, 93, 186}, [4]int{22528, 46592}, [6]int{18, 32, 38}}),
		row("b300-269gb", "b300-269gb", "NVIDIA B300 SXM6 AC", "blackwell", 275040, 148,
			eight{gb: [4]int{34, 67, 135, 269}, mib: [4]int{34560}}),
		row("gb300-278gb", "gb300-278gb", "NVIDIA GB300", "blackwell", 284208, 152,
			eight{gb: [4]int{35, 70, 139, 278}}),
	}
}

func a30() Board {
	every, halves := []int{0, 1, 2, 3}, []int{0, 2}
	return Board{Key: "a30-24gb", Model: "a30-24gb", Product: "NVIDIA A30", Arch: "ampere", MemoryMiB: 24576, SMs: 56,
		Units: 4, ResetToToggle: true, Profiles: []Profile{
			{Name: "1g.6gb", ID: 14, CIProfileID: ciOne, MemoryMiB: 5952, SMs: 14, ComputeSlices: 1, Size: 1, Starts: every, Max: 4},
			{Name: "1g.6gb+me", ID: 21, CIProfileID: ciOne, MemoryMiB: 5952, SMs: 14, ComputeSlices: 1, Size: 1, Starts: every, Max: 1, Media: true},
			{Name: "2g.12gb", ID: 5, CIProfileID: ciTwo, MemoryMiB: 11968, SMs: 28, ComputeSlices: 2, Size: 2, Starts: halves, Max: 2},
			{Name: "2g.12gb+me", ID: 6, CIProfileID: ciTwo, MemoryMiB: 11968, SMs: 28, ComputeSlices: 2, Size: 2, Starts: halves, Max: 1, Media: true},
			{Name: "4g.24gb", ID: 0, CIProfileID: ciFour, MemoryMiB: 24000, SMs: 56, ComputeSlices: 4, Size: 4, Starts: []int{0}, Max: 1},
		}}
}

// rtxPro6000 has twelve units for four compute slices: a 1g spans three.
func rtxPro6000() Board {
	cut := func(name string, id, compute, max int) Profile {
		p := Profile{Name: name, ID: id, ComputeSlices: compute, Size: 3 * compute, Max: max,
			Media: strings.Contains(name, "+me"), Graphics: strings.HasSuffix(name, "+gfx")}
		switch compute {
		case 1:
			p.CIProfileID, p.MemoryMiB, p.SMs, p.Starts = ciOne, 24192, 46, []int{0, 3, 6, 9}
		case 2:
			p.CIProfileID, p.MemoryMiB, p.SMs, p.Starts = ciTwo, 48512, 94, []int{0, 6}
		case 4:
			p.CIProfileID, p.MemoryMiB, p.SMs, p.Starts = ciFour, 97408, 188, []int{0}
		}
		return p
	}
	return Board{Key: "rtx-pro-6000-blackwell-96gb", Model: "rtx-pro-6000-96gb", Product: "NVIDIA RTX PRO 6000 Blackwell Server Edition",
		Arch: "blackwell", MemoryMiB: 97887, SMs: 188, Units: 12, Profiles: []Profile{
			cut("1g.24gb", 14, 1, 4), cut("1g.24gb+me", 21, 1, 1), cut("1g.24gb+gfx", 47, 1, 4), cut("1g.24gb+me.all", 65, 1, 1), cut("1g.24gb-me", 67, 1, 4),
			cut("2g.48gb", 5, 2, 2), cut("2g.48gb+gfx", 35, 2, 2), cut("2g.48gb+me.all", 64, 2, 1), cut("2g.48gb-me", 66, 2, 2),
			cut("4g.96gb", 0, 4, 1), cut("4g.96gb+gfx", 32, 4, 1),
		}}
}

// uncutBoards are sold whole. RTX PRO 5000 can be cut, but its published profiles were replaced once and its placements
// never published, so it has no row of its own beyond the whole card.
func uncutBoards() []Board {
	row := func(key, product, arch string, mib, sms int) Board {
		return Board{Key: key, Model: key, Product: product, Arch: arch, MemoryMiB: mib, SMs: sms}
	}
	return []Board{
		row("a10-24gb", "NVIDIA A10", "ampere", 23028, 72),
		row("l4-24gb", "NVIDIA L4", "ada", 23034, 58),
		row("l40s-48gb", "NVIDIA L40S", "ada", 46068, 142),
		row("p100-16gb", "Tesla P100-PCIE-16GB", "pascal", 16384, 56),
		row("rtx-4090-24gb", "NVIDIA GeForce RTX 4090", "ada", 24564, 128),
		row("rtx-pro-5000-blackwell-48gb", "NVIDIA RTX PRO 5000 Blackwell", "blackwell", 48935, 110),
		row("t4-16gb", "Tesla T4", "turing", 15360, 40),
		row("v100-16gb", "Tesla V100-SXM2-16GB", "volta", 16384, 80),
		row("v100-32gb", "Tesla V100-SXM2-32GB", "volta", 32768, 80),
	}
}
