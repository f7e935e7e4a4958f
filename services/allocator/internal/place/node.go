package place

import "github.com/weirhq/weir/pkg/kernel/mig"

// Policy is what the operator lets a card be sold as.
type Policy string

const (
	PolicyAuto  Policy = "auto"  // either; where the mode cannot change without a reset, the mode the card is in
	PolicyWhole Policy = "whole" // never cut
	PolicyMIG   Policy = "mig"   // never whole
)

// Resources of a node that every member takes a part of.
type Resources struct {
	CPUMilli  int64 `json:"cpu_milli"`
	MemoryMiB int64 `json:"memory_mib"`
}

// Node is what is known of a server: its report and its standing.
type Node struct {
	ID          string `json:"id"`
	Schedulable bool   `json:"schedulable"`        // ready, not cordoned, not recovering
	Cordoned    bool   `json:"cordoned,omitempty"` // says why it is not schedulable
	Missing     bool   `json:"missing,omitempty"`  // removed while something was still seated on it
	Shrunk      bool   `json:"shrunk,omitempty"`   // came back smaller than what is used; the pool sets and clears it
	Resources          // as reported
	Cards       []Card `json:"cards,omitempty"`
}

// Card is what is known of a GPU.
type Card struct {
	ID        string       `json:"id"`
	Model     string       `json:"model"`
	Policy    Policy       `json:"policy"`
	Sellable  bool         `json:"sellable"`             // healthy and not quarantined
	MIGMode   bool         `json:"mig_mode,omitempty"`   // the mode it is in
	ModeFixed bool         `json:"mode_fixed,omitempty"` // leaving that mode takes a reset of the drained card
	Missing   bool         `json:"missing,omitempty"`    // no longer reported, but something is seated on it
	Shrunk    bool         `json:"shrunk,omitempty"`     // a seat is not legal in what it reports now; the pool sets and clears it
	Geometry  mig.Geometry `json:"geometry"`             // as this card reported it
}

// modes says what the card may be sold as now, and what it could be once its mode were changed.
func (c Card) modes() (whole, cut, couldWhole, couldCut bool) {
	couldWhole = c.Policy != PolicyMIG
	couldCut = c.Policy != PolicyWhole && c.Geometry.Units > 0 && c.Geometry.Units <= maxUnits
	return couldWhole && !(c.ModeFixed && c.MIGMode), couldCut && !(c.ModeFixed && !c.MIGMode), couldWhole, couldCut
}

func (r Resources) plus(o Resources) Resources {
	return Resources{r.CPUMilli + o.CPUMilli, r.MemoryMiB + o.MemoryMiB}
}

func (r Resources) minus(o Resources) Resources {
	return Resources{r.CPUMilli - o.CPUMilli, r.MemoryMiB - o.MemoryMiB}
}

func (r Resources) covers(o Resources) bool {
	return r.CPUMilli >= o.CPUMilli && r.MemoryMiB >= o.MemoryMiB
}
