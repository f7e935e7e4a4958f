package outbox_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/outbox"
	"github.com/weirhq/weir/pkg/kit/pg"
)

// The case that breaks every naive feed: A writes first and commits last.
func TestOutOfOrderCommitsLoseNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	written, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- b.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
			if err := outbox.Put(tx, clock.Real{}, "facts", "a", "", 1); err != nil {
				return err
			}
			close(written)
			<-release
			return nil
		})
	}()
	<-written
	b.put(2, 3)
	first := b.after("")
	require.Equal(t, []int{2, 3}, first.values(t))
	close(release)
	require.NoError(t, <-done)
	second := b.after(first.Cursor)
	require.Equal(t, []int{1}, second.values(t), "the late commit follows")
	require.EqualValues(t, 3, second.Items[0].Pos)
	whole := b.after("")
	require.Equal(t, []int{2, 3, 1}, whole.values(t), "and everybody sees the same order")
	for i, it := range whole.Items {
		require.EqualValues(t, i+1, it.Pos, "dense")
	}
}

func TestAsOfCoversEveryCommitBeforeIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(1)
	before := clock.Real{}.Now()
	a := b.after("")
	require.False(t, a.AsOf.Before(before), "a synced answer speaks of the present")
	require.False(t, a.AsOf.After(clock.Real{}.Now()))
	// Without sync and without a pass since, as_of must not move: item 2 is not in the answer.
	b.put(2)
	q := url.Values{"name": {"facts"}, "after": {a.Cursor}}
	again := b.get("metering", outbox.Path, q)
	require.Empty(t, again.Items)
	require.Equal(t, a.AsOf, again.AsOf)
}

func TestManyWritersAndSequencers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := outbox.NewFeeds(b.work, clock.Real{}, outbox.FeedSpec{Name: "facts", Readers: []string{"metering"}}) // another process
	ctx, stop := context.WithCancel(t.Context())
	var passes, writers sync.WaitGroup
	for _, f := range []*outbox.Feeds{b.feeds, other} {
		passes.Go(func() { _ = f.Workers()[0].Run(ctx) })
		passes.Go(func() {
			for ctx.Err() == nil {
				f.Wake()
			}
		})
	}
	const n, each = 8, 40
	for w := range n {
		writers.Go(func() {
			for i := range each {
				err := b.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
					return outbox.Put(tx, clock.Real{}, "facts", string(rune('a'+w)), "", i)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	seen := map[string]int{}
	cursor, pos := "", int64(0)
	read := func() int {
		a := b.get("metering", outbox.Path, url.Values{"name": {"facts"}, "after": {cursor}})
		require.Equal(t, 200, a.Status)
		for i, it := range a.Items {
			pos++
			require.Equal(t, pos, it.Pos)
			require.Equal(t, seen[it.Key], a.values(t)[i], "facts about one key keep their order")
			seen[it.Key]++
		}
		cursor = a.Cursor
		return len(a.Items)
	}
	for pos < n*each/2 {
		read()
	}
	writers.Wait()
	stop()
	passes.Wait()
	for a := b.after(cursor); len(a.Items) > 0 && read() > 0; {
	}
	require.EqualValues(t, n*each, pos)
}

// A pass whose process dies in the middle gives no positions, and holds nobody up.
func TestKilledPass(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(1, 2)
	s, err := b.work.Session(t.Context())
	require.NoError(t, err)
	err = s.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		require.NoError(t, tx.Exec(`SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.outbox', 0))`).Error)
		require.NoError(t, tx.Exec(`UPDATE outbox SET pos = seq + 6`).Error)
		require.NoError(t, b.work.InTx(t.Context(), pg.Scope{}, func(killer *pg.Tx) error {
			return killer.Exec(`SELECT pg_terminate_backend(?)`, s.PID()).Error
		}))
		return nil
	})
	require.Error(t, err)
	require.Equal(t, upTo(2), b.after("").values(t))
}

func TestGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(1, 2, 3)
	a := b.after("")
	inc, last := a.Incarnation, a.Items[2].ID
	require.Equal(t, inc+":3:"+last, a.Cursor)
	require.Equal(t, 200, b.after(a.Cursor).Status)
	for name, cursor := range map[string]string{
		"another incarnation": "0123:3:" + last,
		"another item":        inc + ":2:" + last,
		"beyond the head":     inc + ":4:" + last,
	} {
		got := b.after(cursor)
		require.Equal(t, 410, got.Status, name)
		require.Equal(t, "gone", got.Code, name)
	}
	for _, bad := range []string{"x", "a:b:c", inc + ":-1:" + last, inc + ":0:" + last, inc + ":3:", ":3:x", strings.Repeat(":", 9)} {
		require.Equal(t, 422, b.after(bad).Status, bad)
	}
	require.Equal(t, 422, b.get("metering", outbox.Path, url.Values{"name": {"facts"}, "wait": {"soon"}}).Status)

	require.NoError(t, outbox.RestoreIncarnation(t.Context(), b.work))
	require.Equal(t, 410, b.after(a.Cursor).Status, "a restored schema")
	require.Equal(t, upTo(3), b.after("").values(t))
}

func TestRetentionKeepsWhereReadersStand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(1, 2, 3, 4)
	all := b.after("")
	at := func(i int) string { return all.Incarnation + ":" + string(rune('0'+i)) + ":" + all.Items[i-1].ID }
	age := func(pos int) {
		require.NoError(t, b.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
			return tx.Exec(`UPDATE outbox SET written_at = now() - interval '8 days' WHERE pos <= ?`, pos).Error
		}))
	}
	prune := func() {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = b.feeds.Workers()[1].Run(ctx) }()
		require.Eventually(t, func() bool {
			var left int64
			err := b.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
				return tx.Raw(`SELECT count(*) FROM outbox WHERE written_at < now() - interval '7 days'`).Scan(&left).Error
			})
			return err == nil && left == 1
		}, 10*time.Second, 5*time.Millisecond)
		cancel()
		<-done
	}
	age(2)
	prune()
	require.Equal(t, []int{3, 4}, b.after(at(2)).values(t), "a reader that stood at 2 within retention goes on")
	require.Equal(t, 410, b.after(at(1)).Status)
	require.Equal(t, 410, b.after("").Status, "the beginning is gone")
	age(4)
	prune()
	require.Equal(t, 200, b.after(at(4)).Status, "the last one is kept, however old")
	b.put(5)
	require.Equal(t, []int{5}, b.after(at(4)).values(t))
}

func TestListsCursorIsTakenBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(1)
	b.list = func(context.Context) ([]outbox.Item, error) {
		b.put(2) // changes while the list is read
		return []outbox.Item{{Key: "k", Data: []byte("2")}}, nil
	}
	l := b.get("metering", outbox.ListPath, url.Values{"name": {"facts"}})
	require.Equal(t, []int{2}, l.values(t))
	require.False(t, l.AsOf.IsZero())
	require.Equal(t, []int{2}, b.after(l.Cursor).values(t), "it comes again rather than never")
	b.list = func(context.Context) ([]outbox.Item, error) { return nil, nil }
	require.NotNil(t, b.get("metering", outbox.ListPath, url.Values{"name": {"facts"}}).Items)
}

func TestLongPollWakes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.runWorkers()
	arrived := make(chan struct{}, 1)
	answers := make(chan answer, 1)
	cursor := b.after("").Cursor
	b.onRequest(func(*http.Request) { arrived <- struct{}{} })
	began := time.Now()
	go func() {
		answers <- b.get("metering", outbox.Path, url.Values{"name": {"facts"}, "after": {cursor}, "wait": {"20s"}})
	}()
	<-arrived
	b.put(1)
	require.Equal(t, []int{1}, (<-answers).values(t))
	require.Less(t, time.Since(began), 5*time.Second)
	b.onRequest(nil)
	empty := b.get("metering", outbox.Path, url.Values{"name": {"facts"}, "after": {b.after("").Cursor}, "wait": {"50ms"}})
	require.Equal(t, 200, empty.Status)
	require.Empty(t, empty.Items, "nothing came: an empty answer, not an error")
}

func TestOnlyReadersRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{outbox.Path, outbox.ListPath} {
		require.Equal(t, 200, b.get("metering", path, url.Values{"name": {"facts"}}).Status)
		require.Equal(t, 403, b.get("inventory", path, url.Values{"name": {"facts"}}).Status)
		require.Equal(t, 403, b.get("", path, url.Values{"name": {"facts"}}).Status)
		require.Equal(t, 404, b.get("metering", path, url.Values{"name": {"secrets"}}).Status)
	}
}

func TestLargeFeedsComeInPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, b.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return tx.Exec(`INSERT INTO outbox (id, feed, key, at, data) SELECT 'itm_' || n, 'facts', 'k', now(), n::text::json FROM generate_series(1, 12000) AS g (n) ORDER BY g.n`).Error
	}))
	got, cursor := []int{}, ""
	for more := true; more; {
		a := b.after(cursor)
		require.Equal(t, 200, a.Status)
		got, cursor, more = append(got, a.values(t)...), a.Cursor, a.Truncated
	}
	require.Equal(t, upTo(12000), got)
}
