package usage

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir/pkg/api/meteringapi"
	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/services/cli/internal/output"
)

// table shows the rows and what they add up to.
func table(p *output.Page, rows []meteringapi.UsageRow, sums map[string]*total, by []meteringapi.ListUsageParamsGroupBy) {
	header := []string{"START", "END"}
	for _, b := range by {
		header = append(header, strings.ToUpper(string(b)))
	}
	t := p.Table(append(header, "SECONDS", "CARD SECONDS", "GPUE SECONDS", "COST", "PROVISIONAL")...)
	for _, r := range rows {
		cells := []any{output.Time(r.Start), output.Time(r.End)}
		for _, b := range by {
			cells = append(cells, output.Or(group(r, b)))
		}
		t.Row(append(cells, r.Seconds, r.CardSeconds, r.GpueSeconds, output.Amount(r.Cost.Amount)+" "+r.Cost.Currency, output.YesNo(r.Provisional))...)
	}
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		cells := []any{"TOTAL", ""}
		for range by {
			cells = append(cells, "")
		}
		s := sums[currency]
		t.Row(append(cells, plain(s.seconds), plain(s.cards), plain(s.gpue), output.Amount(s.cost.Micro().String())+" "+currency, "")...)
	}
}

func group(r meteringapi.UsageRow, b meteringapi.ListUsageParamsGroupBy) *string {
	switch b {
	case meteringapi.Project:
		return r.Project
	case meteringapi.Offering:
		return r.Offering
	}
	return r.Instance
}

// total is what rows add up to; seconds are kept as millionths.
type total struct {
	seconds, cards, gpue money.Micro
	cost                 money.MsMicro
}

// sum adds the rows of each currency up, from the exact integers: adding displayed amounts
// would add their rounding.
func sum(rows []meteringapi.UsageRow) (map[string]*total, error) {
	sums := map[string]*total{}
	for _, r := range rows {
		t, ok := sums[r.Cost.Currency]
		if !ok {
			t = &total{}
			sums[r.Cost.Currency] = t
		}
		var seconds [3]money.Micro
		var err error
		for i, n := range []json.Number{r.Seconds, r.CardSeconds, r.GpueSeconds} {
			if seconds[i], err = money.Parse(n.String()); err != nil {
				return nil, fmt.Errorf("add up usage: %w", err)
			}
		}
		cost, err := money.ParseMsMicro(r.CostMsMicro)
		if err != nil {
			return nil, fmt.Errorf("add up usage: %w", err)
		}
		t.seconds, t.cards, t.gpue, t.cost = t.seconds+seconds[0], t.cards+seconds[1], t.gpue+seconds[2], t.cost.Add(cost)
	}
	return sums, nil
}

// plain writes millionths without the zeros at the end.
func plain(m money.Micro) string {
	return strings.TrimSuffix(strings.TrimRight(m.String(), "0"), ".")
}
