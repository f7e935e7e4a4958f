package domain

// Kind is what an offering is of a card.
type Kind string

// The kinds. Shared cards are not sold yet.
const (
	Whole  Kind = "whole"
	MIG    Kind = "mig"
	Shared Kind = "shared"
)

// Isolation is the wall around what is rented.
func (k Kind) Isolation() string {
	switch k {
	case Whole:
		return "exclusive"
	case MIG:
		return "hardware"
	}
	return "shared"
}
