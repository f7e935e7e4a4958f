package pgtest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"

	"github.com/weirhq/weir/pkg/kit/pgserver"
)

// settings trade safety for speed: nothing in a test database outlives its test.
var settings = map[string]string{
	"fsync":                  "off",
	"synchronous_commit":     "off",
	"full_page_writes":       "off",
	"max_connections":        "300",
	"shared_buffers":         "128MB",
	"max_wal_size":           "2GB",
	"checkpoint_timeout":     "1h",
	"autovacuum_naptime":     "5min",
	"autovacuum_max_workers": "1",
}

// layout changes when an older server must be replaced.
const layout = "1"

// cluster is the machine's test server.
type cluster struct {
	server   *pgserver.Server
	password string
	admin    *sql.DB // on database postgres
	home     string

	mu        sync.Mutex
	templates map[string]bool // known to be there
}

const startTimeout = 2 * time.Minute

// connect makes sure that the server runs. A lock file lets one process at a time look
// after it.
func connect() (*cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	home := filepath.Join(os.TempDir(), fmt.Sprintf("weir-pgtest-%d", os.Geteuid()))
	if err := ownFolder(home); err != nil {
		return nil, err
	}
	unlock, err := lockFile(filepath.Join(home, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	c, err := ensureServer(ctx, home)
	if err != nil {
		return nil, err
	}
	return c, c.dropDead(ctx)
}

// ensureServer returns the running server; one that is broken or older is replaced.
func ensureServer(ctx context.Context, home string) (*cluster, error) {
	dir := filepath.Join(home, "data")
	c, err := startServer(ctx, home, dir)
	if err == nil {
		return c, nil
	}
	if errors.Is(err, pgserver.ErrNotFound) {
		return nil, err
	}
	if old, aerr := pgserver.Adopt(ctx, dir); aerr == nil && old != nil {
		if serr := old.Stop(ctx, pgserver.Immediate); serr != nil {
			return nil, errors.Join(err, serr)
		}
	}
	if rerr := os.RemoveAll(dir); rerr != nil {
		return nil, errors.Join(err, rerr)
	}
	return startServer(ctx, home, dir)
}

func startServer(ctx context.Context, home, dir string) (*cluster, error) {
	password, err := readOrMake(filepath.Join(home, "password"))
	if err != nil {
		return nil, err
	}
	if err := pgserver.Init(ctx, dir, password); err != nil {
		return nil, err
	}
	stamp := filepath.Join(dir, "weir-pgtest-layout")
	if have, err := os.ReadFile(stamp); err == nil && string(have) != fingerprint() {
		return nil, errors.New("made with other settings")
	}
	if err := os.WriteFile(stamp, []byte(fingerprint()), 0o600); err != nil {
		return nil, err
	}
	server, err := pgserver.Start(ctx, dir, pgserver.Options{Settings: settings})
	if err != nil {
		return nil, err
	}
	admin, err := sql.Open("pgx", server.DSN("postgres", password))
	if err != nil {
		return nil, err
	}
	admin.SetMaxOpenConns(4)
	if err := admin.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reach the test server: %w", err), admin.Close())
	}
	return &cluster{server: server, password: password, admin: admin, home: home, templates: map[string]bool{}}, nil
}

func fingerprint() string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s %v", layout, settings)) // maps print sorted
	return hex.EncodeToString(h[:])
}

// ownFolder makes a folder that everybody may enter (the server runs as another user when
// we are root) and that only we may write.
func ownFolder(path string) error {
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to somebody else", path)
	}
	return os.Chmod(path, 0o755)
}

// lockFile waits for the exclusive lock; it ends with the process at the latest.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

func readOrMake(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err == nil && len(b) > 0 {
		return strings.TrimSpace(string(b)), nil
	}
	p := random(16)
	return p, os.WriteFile(path, []byte(p), 0o600)
}
