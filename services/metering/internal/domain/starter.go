package domain

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/pkg/kernel/money"
)

// StarterPrice is a line of the price list that a new deployment starts with.
type StarterPrice struct {
	Offering string
	Currency string
	PerHour  money.Micro
}

// cent is the finest step of a list price.
const cent = money.Micro(10_000)

// whole is the list price of a whole card per hour, in hundredths of each currency. The
// currencies are lists of their own: no rate of exchange is ever applied.
var whole = map[string]struct{ cny, usd money.Micro }{
	"a10-24gb":          {220, 31},
	"a100-40gb":         {350, 50},
	"a100-80gb":         {600, 86},
	"a30-24gb":          {250, 36},
	"b200-180gb":        {3200, 457},
	"b300-269gb":        {4000, 571},
	"gb200-186gb":       {3400, 486},
	"gb300-278gb":       {4400, 629},
	"gh200-96gb":        {1450, 207},
	"gh200-144gb":       {1800, 257},
	"h100-80gb":         {1400, 200},
	"h100-80gb-pcie":    {1200, 171},
	"h100-94gb":         {1500, 214},
	"h100-94gb-nvl":     {1350, 193},
	"h20-96gb":          {750, 107},
	"h200-141gb":        {1900, 271},
	"l4-24gb":           {180, 26},
	"l40s-48gb":         {450, 64},
	"p100-16gb":         {90, 13},
	"rtx-4090-24gb":     {200, 29},
	"rtx-pro-6000-96gb": {680, 97},
	"t4-16gb":           {90, 13},
	"v100-16gb":         {150, 21},
	"v100-32gb":         {200, 29},

	"rtx-pro-5000-blackwell-48gb": {360, 51},
}

// Starter is the starter price list: every board we know, whole and in every slice that is
// sold. A slice costs its share of the whole card, rounded up to a cent.
func Starter() []StarterPrice {
	seen := map[string]bool{}
	var all []StarterPrice
	for _, b := range mig.Boards() {
		card := whole[b.Model]
		add := func(offering string, num, den money.Micro) {
			if seen[offering] {
				return // boards of one model are one offering
			}
			seen[offering] = true
			all = append(all, StarterPrice{offering, "CNY", share(card.cny, num, den)}, StarterPrice{offering, "USD", share(card.usd, num, den)})
		}
		add(b.Model+".whole", 1, 1)
		for _, p := range b.Profiles {
			if p.Plain() {
				num, den := fraction(b, p)
				add(b.Model+"."+p.Name, num, den)
			}
		}
	}
	slices.SortFunc(all, func(a, b StarterPrice) int {
		return cmp.Or(cmp.Compare(a.Offering, b.Offering), cmp.Compare(a.Currency, b.Currency))
	})
	return all
}

// share is cents × num / den, rounded up to a cent.
func share(cents, num, den money.Micro) money.Micro { return (cents*num + den - 1) / den * cent }

// fraction is the larger of a slice's shares of the card's memory and of its SMs. Where
// nobody published them, its span in placement units and its compute slices stand in.
func fraction(b mig.Board, p mig.Profile) (num, den money.Micro) {
	memory, memories := p.MemoryMiB, b.MemoryMiB
	if memory == 0 {
		memory, memories = p.Size, b.Units
	}
	sms, allSMs := p.SMs, b.SMs
	if sms == 0 {
		sms, allSMs = p.ComputeSlices, compute(b)
	}
	if memory*allSMs >= sms*memories {
		return money.Micro(memory), money.Micro(memories)
	}
	return money.Micro(sms), money.Micro(allSMs)
}

// compute is how many compute slices the board has.
func compute(b mig.Board) int {
	most := 1
	for _, p := range b.Profiles {
		most = max(most, p.ComputeSlices)
	}
	return most
}
