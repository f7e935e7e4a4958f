package idem_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/idem"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
)

type instance struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
}

func key(name string) idem.Key {
	return idem.Key{Org: "org_a", Principal: "usr_1", Operation: "createInstance", Path: "/v1/instances", Key: name, Body: sha256.Sum256([]byte("body"))}
}

// effect is a use case: claim, do (one outbox item stands for the effect), save.
func effect(ctx context.Context, db *pg.DB, k idem.Key, id string, refuse error) error {
	return db.InTx(ctx, pg.Scope{Org: k.Org}, func(tx *pg.Tx) error {
		if err := idem.Claim(tx, k); err != nil {
			return err
		}
		if err := outbox.Put(tx, clock.Real{}, "effects", k.Key, k.Org, id); err != nil {
			return err
		}
		if refuse != nil {
			return refuse
		}
		return idem.Save(tx, k, 201, instance{ID: id, Secret: "shown once"})
	})
}

func effects(t *testing.T, db *pg.DB) (n int) {
	t.Helper()
	require.NoError(t, db.InTx(t.Context(), pg.Scope{Operator: true}, func(tx *pg.Tx) error {
		return tx.Raw(`SELECT count(*) FROM outbox WHERE feed = 'effects'`).Scan(&n).Error
	}))
	return n
}

func TestTwentyAtOnceHaveOneEffectAndOneAnswer(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "allocator"), "allocator", pg.API, 8)
	var mine, replayed atomic.Int32
	answers := make([]string, 20)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			id := fmt.Sprint("ins_", i)
			err := effect(t.Context(), db, key("k"), id, nil)
			var r *idem.Replay
			switch {
			case err == nil:
				mine.Add(1)
				answers[i] = id
			case errors.As(err, &r) && r.Status == 201:
				replayed.Add(1)
				var a struct {
					ID     string
					Secret *string
				}
				if err := json.Unmarshal(r.Answer, &a); err != nil || a.Secret != nil {
					t.Errorf("%s: %v", r.Answer, err)
				}
				answers[i] = a.ID
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, mine.Load())
	require.EqualValues(t, 19, replayed.Load())
	require.Equal(t, 1, effects(t, db))
	for _, a := range answers {
		require.Equal(t, answers[0], a)
	}
}

func TestRefusalsAreNotRemembered(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "allocator"), "allocator", pg.API, 8)
	full := fault.New(fault.NoCapacity, "No room.")
	for range 2 {
		require.ErrorIs(t, effect(t.Context(), db, key("k"), "ins_1", full), fault.NoCapacity)
	}
	// Many at once, all refused but one: the one that gets room is the only effect.
	var room atomic.Int32
	var wg sync.WaitGroup
	var ok, replays, refused atomic.Int32
	for range 12 {
		wg.Go(func() {
			var refuse error
			if room.Add(1) != 5 {
				refuse = full
			}
			err := effect(t.Context(), db, key("k"), "ins_2", refuse)
			var r *idem.Replay
			switch {
			case err == nil:
				ok.Add(1)
			case errors.As(err, &r):
				replays.Add(1)
			case errors.Is(err, fault.NoCapacity):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 12, ok.Load()+replays.Load()+refused.Load())
	require.LessOrEqual(t, ok.Load(), int32(1))
	require.EqualValues(t, ok.Load(), effects(t, db))
}

func TestOtherBodiesAndOtherCallers(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "allocator"), "allocator", pg.API, 2)
	require.NoError(t, effect(t.Context(), db, key("k"), "ins_1", nil))
	other := key("k")
	other.Body = sha256.Sum256([]byte("another body"))
	require.ErrorIs(t, effect(t.Context(), db, other, "ins_2", nil), fault.IdempotencyMismatch)
	for name, change := range map[string]func(*idem.Key){
		"org":       func(k *idem.Key) { k.Org = "org_b" },
		"principal": func(k *idem.Key) { k.Principal = "usr_2" },
		"operation": func(k *idem.Key) { k.Operation = "createKey" },
		"path":      func(k *idem.Key) { k.Path = "/v1/instances/ins_1/stop" },
		"key":       func(k *idem.Key) { k.Key = "K" },
		"signup":    func(k *idem.Key) { k.Org = "signup:" + fmt.Sprintf("%x", sha256.Sum256([]byte("a@b.c"))) },
	} {
		k := key("k")
		change(&k)
		require.NoError(t, effect(t.Context(), db, k, "ins_"+name, nil), name)
	}
	require.Equal(t, 7, effects(t, db))
	none := key("k")
	none.Org = ""
	require.Error(t, effect(t.Context(), db, none, "ins_3", nil))

	// Only the org's own scope sees its keys.
	require.Error(t, db.InTx(t.Context(), pg.Scope{Org: "org_z"}, func(tx *pg.Tx) error { return idem.Claim(tx, key("k")) }))
}

func TestAClaimWithoutSaveIsADefectNotAReplay(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.New(t, "allocator"), "allocator", pg.API, 2)
	in := func(fn func(tx *pg.Tx) error) error { return db.InTx(t.Context(), pg.Scope{Org: "org_a"}, fn) }
	require.NoError(t, in(func(tx *pg.Tx) error { return idem.Claim(tx, key("k")) }))
	err := in(func(tx *pg.Tx) error { return idem.Claim(tx, key("k")) })
	require.Equal(t, fault.Internal, fault.From(err).Code)
	require.Error(t, in(func(tx *pg.Tx) error { return idem.Save(tx, key("other"), 200, nil) }), "not claimed")
}

// The rows that a batch writer uses, against the same table.
func TestBatches(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t, "allocator")
	db := pgtest.Open(t, d, "allocator", pg.Work, 2)
	in := func(fn func(tx *pg.Tx) error) error { return db.InTx(t.Context(), pg.Scope{}, fn) }
	a, b, c := key("a"), key("b"), key("c")
	b.Org = "org_b"
	answer, err := idem.Strip(instance{ID: "ins_1", Secret: "s"})
	require.NoError(t, err)
	require.NoError(t, in(func(tx *pg.Tx) error {
		return idem.InsertRows(tx, []idem.Row{{Key: a, Status: 201, Answer: answer}, {Key: b, Status: 201, Answer: answer}})
	}))
	changed := b
	changed.Body = sha256.Sum256([]byte("another body"))
	var found []idem.Row
	require.NoError(t, in(func(tx *pg.Tx) (err error) { found, err = idem.Lookup(tx, a, changed, c); return err }))
	require.Len(t, found, 2)
	for _, r := range found {
		switch r.Same() {
		case a.Same():
			var replay *idem.Replay
			require.ErrorAs(t, r.Replay(a), &replay)
			require.Equal(t, 201, replay.Status)
			require.JSONEq(t, `{"id":"ins_1","secret":null}`, string(replay.Answer))
		case b.Same():
			require.ErrorIs(t, r.Replay(changed), fault.IdempotencyMismatch)
		default:
			t.Errorf("unexpected %v", r)
		}
	}
	err = in(func(tx *pg.Tx) error {
		return idem.InsertRows(tx, []idem.Row{{Key: c, Status: 201, Answer: answer}, {Key: a, Status: 201, Answer: answer}})
	})
	require.Equal(t, idem.PrimaryKey, pg.Constraint(err))
	require.NoError(t, in(func(tx *pg.Tx) error { return idem.InsertRows(tx, nil) }))
	// What a batch wrote replays for Claim.
	var replay *idem.Replay
	require.ErrorAs(t, effect(t.Context(), pgtest.Open(t, d, "allocator", pg.API, 1), a, "ins_9", nil), &replay)
}

func TestStrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   any
		want string
	}{
		{map[string]any{"access_token": "a", "refresh_token": "b", "id": 1}, `{"access_token":null,"refresh_token":null,"id":1}`},
		{map[string]any{"user": map[string]any{"secret": "only top-level fields are secrets"}}, `{"user":{"secret":"only top-level fields are secrets"}}`},
		{[]int{1, 2}, `[1,2]`}, {nil, `null`}, {instance{ID: "x"}, `{"id":"x"}`}, {json.RawMessage(`{"big":12345678901234567890}`), `{"big":12345678901234567890}`},
	} {
		got, err := idem.Strip(c.in)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(got))
	}
	_, err := idem.Strip(make(chan int))
	require.Error(t, err)
}

func TestPruneForgetsOldAnswers(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t, "allocator")
	api, work := pgtest.Open(t, d, "allocator", pg.API, 1), pgtest.Open(t, d, "allocator", pg.Work, 1)
	for _, k := range []string{"old", "young"} {
		require.NoError(t, effect(t.Context(), api, key(k), k, nil))
	}
	require.NoError(t, work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return tx.Exec(`UPDATE idempotency SET at = at - interval '49 hours' WHERE key = 'old'`).Error
	}))
	require.NoError(t, work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		n, err := idem.Prune(tx)
		require.EqualValues(t, 1, n)
		return err
	}))
	require.NoError(t, effect(t.Context(), api, key("old"), "again", nil))
	var replay *idem.Replay
	require.ErrorAs(t, effect(t.Context(), api, key("young"), "again", nil), &replay)
}
