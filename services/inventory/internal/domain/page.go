package domain

// Page is one step through a list: at most Limit rows after the row with the sort keys
// After.
type Page struct {
	Limit int
	After []string
}

// NodeFilter narrows a list of nodes; empty fields do not.
type NodeFilter struct{ State, Pool, Name string }

// GPUFilter narrows a list of cards; empty fields do not.
type GPUFilter struct{ State, Model, Node string }
