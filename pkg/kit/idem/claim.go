package idem

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/pg"
)

var (
	errUnsaved = errors.New("idem: the first request with this key committed without saving its answer")
	errUnseen  = errors.New("idem: the key is taken by a row that this transaction's scope does not see")
	errNoOrg   = errors.New("idem: a key needs an org, or what stands for it")
)

func mismatch() error {
	return fault.New(fault.IdempotencyMismatch, "This Idempotency-Key was used before with another request body. Use a new key for a new request.")
}

// Claim makes the key this transaction's, as its first statement. nil: go on and Save. A
// *Replay: answered before, answer that. fault.IdempotencyMismatch: the key was used with
// another body. Of two at once the second waits here until the first has committed (then
// it replays) or rolled back (then it goes on): refusals are not remembered.
//
// The transaction's scope must see the key's org (pg.Scope{Org: k.Org} or Operator).
func Claim(tx *pg.Tx, k Key) error {
	if k.Org == "" {
		return errNoOrg
	}
	const insert = `INSERT INTO idempotency (org, principal, operation, path, key, body) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	for range 3 { // the row that was in the way may have been pruned in between
		r := tx.Exec(insert, k.Org, k.Principal, k.Operation, k.Path, k.Key, k.Body[:])
		if r.Error != nil {
			return fmt.Errorf("claim the idempotency key: %w", r.Error)
		}
		if r.RowsAffected == 1 {
			return nil
		}
		found, err := Lookup(tx, k)
		if err != nil || len(found) == 1 {
			return errors.Join(err, first(found).against(k))
		}
	}
	return errUnseen
}

// Save keeps the answer that Claim will replay. Secrets are kept as null.
func Save(tx *pg.Tx, k Key, status int, answer any) error {
	stored, err := Strip(answer)
	if err != nil {
		return err
	}
	const update = `UPDATE idempotency SET status = ?, answer = ? WHERE org = ? AND principal = ? AND operation = ? AND path = ? AND key = ?`
	r := tx.Exec(update, status, string(stored), k.Org, k.Principal, k.Operation, k.Path, k.Key)
	if r.Error == nil && r.RowsAffected != 1 {
		r.Error = errors.New("it was not claimed")
	}
	if r.Error != nil {
		return fmt.Errorf("save the answer of the idempotency key: %w", r.Error)
	}
	return nil
}

// secrets are the fields of an answer that are shown once and never kept.
var secrets = []string{"secret", "access_token", "refresh_token"}

// Strip marshals an answer with its top-level secrets as null.
func Strip(answer any) (json.RawMessage, error) {
	b, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("marshal the answer to keep: %w", err)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(b, &fields) != nil || fields == nil {
		return b, nil // not an object: it has no fields
	}
	has := false
	for _, s := range secrets {
		if _, ok := fields[s]; ok {
			fields[s], has = json.RawMessage("null"), true
		}
	}
	if !has {
		return b, nil // keep the order of the fields
	}
	return json.Marshal(fields)
}
