package outbox

import (
	"encoding/json"
	"time"
)

// row is an item as the table has it.
type row struct {
	ID   string
	Pos  int64
	Feed string
	Key  string
	Org  string
	At   time.Time
	Data string
}

func (r row) item() Item {
	return Item{ID: r.ID, Pos: r.Pos, Feed: r.Feed, Key: r.Key, Org: r.Org, At: r.At.UTC(), Data: json.RawMessage(r.Data)}
}
