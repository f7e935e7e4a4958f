package pg_test

import (
	"bytes"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
)

// proxy stands between a pool and PostgreSQL and cuts the wire where it is told to.
type proxy struct {
	ln     net.Listener
	server string
	// onCommit decides what happens to a COMMIT: forwarded or not, the wire is cut then.
	cutAtCommit atomic.Bool
	forward     atomic.Bool
	mu          sync.Mutex
	conns       []net.Conn
}

func newProxy(t *testing.T, d pg.Database) (*proxy, pg.Database) {
	u, err := url.Parse(d.AdminDSN)
	require.NoError(t, err)
	q := u.Query()
	dir := t.TempDir()
	p := &proxy{server: filepath.Join(q.Get("host"), ".s.PGSQL.5432")}
	p.ln, err = net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	require.NoError(t, err)
	t.Cleanup(p.close)
	go p.accept()
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	d.AdminDSN = u.String()
	return p, d
}

func (p *proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.server)
		if err != nil {
			_ = client.Close()
			return
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		cut := func() { _ = client.Close(); _ = server.Close() }
		go func() { defer cut(); pipe(server, client, nil) }()
		go func() { defer cut(); pipe(client, server, p.filter) }()
	}
}

// filter reports whether bytes from the client go on, and whether the wire stays.
func (p *proxy) filter(b []byte) (forward, stay bool) {
	if p.cutAtCommit.Load() && bytes.Contains(b, []byte("COMMIT\x00")) {
		return p.forward.Load(), false
	}
	return true, true
}

func pipe(from, to net.Conn, filter func([]byte) (bool, bool)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		forward, stay := true, true
		if filter != nil {
			forward, stay = filter(buf[:n])
		}
		if forward && n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if !stay {
			_ = from.Close() // the client's side first: the server may still work
		}
		if err != nil || !stay {
			return
		}
	}
}

func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

func (p *proxy) close() { _ = p.ln.Close(); p.cutAll() }

func TestCommitOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t, "tenant")
	direct := pgtest.Open(t, d, "tenant", pg.Work, 1)
	p, via := newProxy(t, d)
	db := pgtest.Open(t, via, "tenant", pg.Work, 1)
	for key, arrives := range map[string]bool{"arrives": true, "is lost": false} {
		p.forward.Store(arrives)
		p.cutAtCommit.Store(true)
		runs, after := 0, false
		err := db.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
			runs++
			tx.AfterCommit(func() { after = true })
			return tx.Exec(insertKey, "org_a", key).Error
		})
		p.cutAtCommit.Store(false)
		require.ErrorIs(t, err, pg.ErrCommitUnknown, key)
		require.ErrorIs(t, err, fault.Unavailable, key)
		require.Equal(t, time.Second, fault.From(err).RetryAfter)
		require.Equal(t, 1, runs, "never run again: it may have happened")
		require.False(t, after)
		require.Eventually(t, func() bool {
			n := 0
			err := direct.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
				return tx.Raw(`SELECT count(*) FROM idempotency WHERE key = ?`, key).Scan(&n).Error
			})
			return err == nil && (n == 1) == arrives
		}, 5*time.Second, 5*time.Millisecond, key)
		require.NoError(t, insert(t, db, pg.Scope{}, "org_b", key), "the pool goes on with a new connection")
	}
}

func TestALostConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t, "tenant")
	p, via := newProxy(t, d)
	db := pgtest.Open(t, via, "tenant", pg.Work, 4)
	err := db.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		p.cutAll()
		return tx.Exec(insertKey, "org_a", "1").Error
	})
	require.ErrorIs(t, err, fault.Unavailable)
	require.NotErrorIs(t, err, pg.ErrCommitUnknown)

	err = db.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error { // lost, then noticed at COMMIT
		err := tx.Exec(insertKey, "org_a", "1").Error
		tx.Exec(`SELECT pg_terminate_backend(pg_backend_pid())`)
		return err
	})
	require.ErrorIs(t, err, fault.Unavailable)
	require.Empty(t, orgsSeen(t, db, pg.Scope{}))

	_ = p.ln.Close() // PostgreSQL is away
	p.cutAll()
	err = db.InTx(t.Context(), pg.Scope{}, func(*pg.Tx) error { return nil })
	require.ErrorIs(t, err, fault.Unavailable)
	require.ErrorIs(t, db.Ping(t.Context()), fault.Unavailable)
	_, err = db.Session(t.Context())
	require.ErrorIs(t, err, fault.Unavailable)
}

// After PostgreSQL has restarted, every pooled connection is dead and nobody must notice.
func TestDeadPooledConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t, "tenant")
	db := pgtest.Open(t, d, "tenant", pg.Work, 4)
	killer := pgtest.Open(t, d, "tenant", pg.Work, 1)
	var wg sync.WaitGroup
	var all sync.WaitGroup
	all.Add(4)
	for range 4 { // four connections at once
		wg.Go(func() {
			err := db.InTx(t.Context(), pg.Scope{}, func(*pg.Tx) error { all.Done(); all.Wait(); return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, killer.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return tx.Exec(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`).Error
	}))
	for range 8 {
		require.NoError(t, db.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error { return errors.Join(tx.Exec(`SELECT 1`).Error) }))
	}
}

func TestOpenSaysWhy(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t, "tenant")
	d.Secret = []byte("not the secret of the roles")
	_, err := pg.Open(t.Context(), d, "tenant", pg.API, 1)
	require.ErrorContains(t, err, "password authentication failed")
	require.NotErrorIs(t, err, fault.Unavailable, "waiting does not help")
}
