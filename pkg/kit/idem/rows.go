package idem

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/weirhq/weir/pkg/kit/pg"
)

// Row is a key with its answer: table idempotency, one row per (org, principal, operation,
// path, key). For those who commit the effects of many requests at once, with InsertRows
// after Lookup has found none of their keys.
type Row struct {
	Key
	Status int
	Answer json.RawMessage // already without secrets: see Strip
}

// against is what the row means for a request with the key k: a replay or a mismatch.
func (r Row) against(k Key) error {
	switch {
	case r.Key == Key{}:
		return nil
	case r.Body != k.Body:
		return mismatch()
	case r.Status == 0:
		return errUnsaved
	}
	return &Replay{Status: r.Status, Answer: r.Answer}
}

// Replay is the answer to a request with the key k that found this row.
func (r Row) Replay(k Key) error { return r.against(k) }

func first(rows []Row) Row {
	if len(rows) == 0 {
		return Row{}
	}
	return rows[0]
}

// row is the table's.
type row struct {
	Org, Principal, Operation, Path, Key string
	Body                                 []byte
	Status                               *int
	Answer                               *string
}

func (row) TableName() string { return "idempotency" }

// InsertRows stores the answers of many requests. A key that was used meanwhile fails the
// whole statement: pg.Constraint(err) == PrimaryKey. Look the keys up again then.
func InsertRows(tx *pg.Tx, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	out := make([]row, len(rows))
	for i, r := range rows {
		if r.Org == "" {
			return errNoOrg
		}
		answer := string(r.Answer)
		out[i] = row{r.Org, r.Principal, r.Operation, r.Path, r.Key.Key, r.Body[:], &r.Status, &answer}
	}
	if err := gorm.G[row](tx.DB).CreateInBatches(tx.Context(), &out, 500); err != nil {
		return fmt.Errorf("store idempotency keys: %w", err)
	}
	return nil
}

// PrimaryKey is the constraint that a reused key violates.
const PrimaryKey = "idempotency_pkey"

// Lookup returns the rows of those keys that were used before, in any order, whatever
// their body. Match them by everything but the body: see Same.
func Lookup(tx *pg.Tx, keys ...Key) ([]Row, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	tuples := make([][]any, len(keys))
	for i, k := range keys {
		tuples[i] = []any{k.Org, k.Principal, k.Operation, k.Path, k.Key}
	}
	columns := []clause.Column{{Name: "org"}, {Name: "principal"}, {Name: "operation"}, {Name: "path"}, {Name: "key"}}
	found, err := gorm.G[row](tx.DB).Where(clause.IN{Column: columns, Values: toAny(tuples)}).Find(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("look idempotency keys up: %w", err)
	}
	rows := make([]Row, len(found))
	for i, f := range found {
		rows[i] = Row{Key: Key{Org: f.Org, Principal: f.Principal, Operation: f.Operation, Path: f.Path, Key: f.Key}}
		copy(rows[i].Body[:], f.Body)
		if f.Status != nil {
			rows[i].Status = *f.Status
		}
		if f.Answer != nil {
			rows[i].Answer = bytes.Clone([]byte(*f.Answer))
		}
	}
	return rows, nil
}

func toAny(tuples [][]any) []any {
	out := make([]any, len(tuples))
	for i, t := range tuples {
		out[i] = t
	}
	return out
}

// Same is k without its body: what one key is looked up by.
func (k Key) Same() Key {
	k.Body = [32]byte{}
	return k
}

// Kept is how long an answer is kept for replays.
const Kept = 48 * time.Hour

// Prune forgets the answers older than Kept, a batch at a time, on the work role. It
// returns how many it forgot.
func Prune(tx *pg.Tx) (int64, error) {
	r := tx.Exec(`DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM idempotency WHERE at < now() - make_interval(secs => ?) ORDER BY at LIMIT 5000))`, Kept.Seconds())
	if r.Error != nil {
		return 0, fmt.Errorf("prune idempotency keys: %w", r.Error)
	}
	return r.RowsAffected, nil
}
