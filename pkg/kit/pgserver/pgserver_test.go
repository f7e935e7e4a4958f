package pgserver_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/pgserver"
)

const password = "a password with ' and \\"

var quick = pgserver.Options{Settings: map[string]string{"fsync": "off"}}

// home is a folder that the server's account may enter, which t.TempDir need not be.
func home(t *testing.T) string {
	dir, err := os.MkdirTemp("", "weir-pgserver-test-*")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func start(t *testing.T, dir string) *pgserver.Server {
	t.Helper()
	require.NoError(t, pgserver.Init(t.Context(), dir, password))
	s, err := pgserver.Start(t.Context(), dir, quick)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = s.Stop(t.Context(), pgserver.Immediate)
		_ = syscall.Kill(s.PID(), syscall.SIGKILL)
	})
	return s
}

func query(t *testing.T, s *pgserver.Server, pw, sql string) (string, error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.DSN("postgres", pw))
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var out string
	err = conn.QueryRow(t.Context(), sql).Scan(&out)
	return out, err
}

func TestLife(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(home(t), "data")
	s := start(t, dir)
	require.False(t, s.Adopted())
	got, err := query(t, s, password, `SELECT current_setting('listen_addresses') || '|' || current_user`)
	require.NoError(t, err)
	require.Equal(t, "|weir", got, "no network door")
	_, err = query(t, s, "wrong", `SELECT ''`)
	require.ErrorContains(t, err, "password authentication failed")
	require.NoError(t, pgserver.Init(t.Context(), dir, "ignored: it is there"))

	// Another process, or the next one after a kill -9, adopts it.
	again, err := pgserver.Start(t.Context(), dir, quick)
	require.NoError(t, err)
	require.True(t, again.Adopted())
	require.Equal(t, s.PID(), again.PID())
	_, err = query(t, again, password, `SELECT ''`)
	require.NoError(t, err)

	require.NoError(t, again.Stop(t.Context(), pgserver.Fast))
	<-s.Gone()
	require.NoError(t, s.Stop(t.Context(), pgserver.Fast), "stopping what has stopped is fine")
	none, err := pgserver.Adopt(t.Context(), dir)
	require.NoError(t, err)
	require.Nil(t, none)
}

func TestItComesBackAfterAPowerCut(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(home(t), "data")
	s := start(t, dir)
	conn, err := pgx.Connect(t.Context(), s.DSN("postgres", password))
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `CREATE TABLE kept AS SELECT 'yes' AS it`)
	require.NoError(t, err)
	require.NoError(t, s.Stop(t.Context(), pgserver.Immediate))
	s = start(t, dir)
	got, err := query(t, s, password, `SELECT it FROM kept`)
	require.NoError(t, err)
	require.Equal(t, "yes", got)

	require.NoError(t, syscall.Kill(s.PID(), syscall.SIGKILL)) // even its own pid file stays
	<-s.Gone()
	s, err = pgserver.Start(t.Context(), dir, quick) // waits for the orphaned backends
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Stop(t.Context(), pgserver.Immediate) })
	_, err = query(t, s, password, `SELECT it FROM kept`)
	require.NoError(t, err)
}

// After a reboot another process may carry the number in the pid file.
func TestAReusedProcessIDIsNotTheServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(home(t), "data")
	s := start(t, dir)
	b, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	require.NoError(t, err)
	require.NoError(t, s.Stop(t.Context(), pgserver.Fast))
	stale := strings.Replace(string(b), strconv.Itoa(s.PID()), strconv.Itoa(os.Getpid()), 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "postmaster.pid"), []byte(stale), 0o600))
	none, err := pgserver.Adopt(t.Context(), dir)
	require.NoError(t, err)
	require.Nil(t, none)
	_, err = query(t, start(t, dir), password, `SELECT ''`)
	require.NoError(t, err)
}

func TestStartsAtOnceShareOneServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(home(t), "data")
	require.NoError(t, pgserver.Init(t.Context(), dir, password))
	var wg sync.WaitGroup
	pids := make([]int, 3)
	for i := range pids {
		wg.Go(func() {
			s, err := pgserver.Start(t.Context(), dir, quick)
			if err != nil {
				t.Error(err)
				return
			}
			pids[i] = s.PID()
		})
	}
	wg.Wait()
	s, err := pgserver.Adopt(t.Context(), dir)
	require.NoError(t, err)
	require.NotNil(t, s)
	require.Equal(t, []int{s.PID(), s.PID(), s.PID()}, pids)
	require.NoError(t, s.Stop(t.Context(), pgserver.Fast))
}

func TestLongPathsGetAShortSocket(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(home(t), strings.Repeat("long", 30), "data")
	s := start(t, dir)
	require.NotContains(t, s.DSN("x", "y"), "longlong")
	_, err := query(t, s, password, `SELECT ''`)
	require.NoError(t, err)
	again, err := pgserver.Adopt(t.Context(), dir)
	require.NoError(t, err)
	_, err = query(t, again, password, `SELECT ''`)
	require.NoError(t, err)
	require.NoError(t, s.Stop(t.Context(), pgserver.Fast))
}

func TestInitLeavesNothingHalfMade(t *testing.T) {
	t.Parallel()
	root := home(t)
	dir := filepath.Join(root, "data")
	require.NoError(t, os.MkdirAll(filepath.Join(dir+".making", "base"), 0o700)) // killed in the middle
	require.NoError(t, pgserver.Init(t.Context(), dir, password))
	require.NoFileExists(t, dir+".making")

	foreign := filepath.Join(root, "foreign")
	require.NoError(t, os.MkdirAll(foreign, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "thesis.txt"), []byte("x"), 0o600))
	require.ErrorContains(t, pgserver.Init(t.Context(), foreign, password), "not empty")
	require.FileExists(t, filepath.Join(foreign, "thesis.txt"))
	require.NoFileExists(t, foreign+".making")
	require.ErrorContains(t, pgserver.Init(t.Context(), "relative", password), "absolute")

	_, err := pgserver.Start(t.Context(), foreign, quick)
	require.ErrorContains(t, err, "version")
	if os.Geteuid() == 0 {
		closed := filepath.Join(root, "closed")
		require.NoError(t, os.Mkdir(closed, 0o700))
		require.ErrorContains(t, pgserver.Init(t.Context(), filepath.Join(closed, "data"), password), "may not enter "+closed)
	}
}

func TestABadSettingSaysWhy(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(home(t), "data")
	require.NoError(t, pgserver.Init(t.Context(), dir, password))
	_, err := pgserver.Start(t.Context(), dir, pgserver.Options{Settings: map[string]string{"max_connections": "many"}})
	require.ErrorContains(t, err, "max_connections")
	s := start(t, dir)
	require.NoError(t, s.Stop(t.Context(), pgserver.Fast))
}
