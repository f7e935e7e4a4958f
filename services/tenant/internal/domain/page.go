package domain

// Page asks for the part of a list that follows After, the id of the last item seen.
type Page struct {
	After string
	Limit int
}
