package pgserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Options are how the server runs.
type Options struct {
	// Settings are added to (or replace) the defaults below.
	Settings map[string]string
	// Bins is where to look for the binaries, see Find.
	Bins []string
	// StartTimeout is how long recovery and start may take; zero means a minute.
	StartTimeout time.Duration
}

// defaults keep the footprint small: the server shares a machine with everything else.
var defaults = map[string]string{
	"listen_addresses":                "",
	"port":                            "5432", // only names the socket
	"unix_socket_permissions":         "0700",
	"max_connections":                 "100",
	"shared_buffers":                  "64MB",
	"wal_level":                       "minimal",
	"max_wal_senders":                 "0",
	"min_wal_size":                    "32MB",
	"max_wal_size":                    "256MB",
	"max_parallel_workers":            "2",
	"autovacuum_max_workers":          "2",
	"jit":                             "off",
	"log_min_messages":                "warning",
	"log_min_error_statement":         "panic", // statements may carry what does not belong in a log
	"password_encryption":             "scram-sha-256",
	"tcp_keepalives_idle":             "30",
	"max_locks_per_transaction":       "64",
	"idle_session_timeout":            "0",
	"cluster_name":                    "weir",
	"restart_after_crash":             "on",
	"logging_collector":               "off",
	"huge_pages":                      "off",
	"checkpoint_timeout":              "5min",
	"max_logical_replication_workers": "0",
}

// errBusy means that another server, or what is left of one, works in the data directory.
var errBusy = errors.New("the data directory is in use")

// Start starts the server on a data directory, or adopts the one that already runs there
// (with the settings it was started with). It waits for what is left of a killed one.
func Start(ctx context.Context, dir string, o Options) (*Server, error) {
	if o.StartTimeout == 0 {
		o.StartTimeout = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	var s *Server
	var last error
	err := poll(ctx, func() (done bool, err error) {
		if s, err = Adopt(ctx, dir); err != nil || s != nil {
			return true, err
		}
		s, last = startOnce(ctx, dir, o)
		if errors.Is(last, errBusy) {
			return false, nil
		}
		return true, last
	})
	switch {
	case err == nil:
		return s, nil
	case errors.Is(last, errBusy): // until the time was over
		return nil, errors.Join(err, last)
	}
	return nil, err
}

func startOnce(ctx context.Context, dir string, o Options) (*Server, error) {
	inst, err := installFor(ctx, dir, o.Bins)
	if err != nil {
		return nil, err
	}
	acc, err := serverAccount()
	if err != nil {
		return nil, err
	}
	s, err := launch(dir, inst, acc, o)
	if err != nil {
		return nil, err
	}
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx), Immediate))
	}
	return s, nil
}

// installFor finds the binaries of the version that made the data directory.
func installFor(ctx context.Context, dir string, bins []string) (Install, error) {
	inst, err := Find(ctx, bins...)
	if err != nil {
		return inst, err
	}
	major, err := dataMajor(dir)
	if err != nil || major == inst.Major {
		return inst, err
	}
	bin := filepath.Join(filepath.Dir(filepath.Dir(inst.Bin)), strconv.Itoa(major), "bin")
	if _, err := os.Stat(bin); err != nil {
		return inst, fmt.Errorf("the data directory %s was made by PostgreSQL %d, but version %d is installed: install version %d, or move the data", dir, major, inst.Major, major)
	}
	return Install{Bin: bin, Major: major}, nil
}

func launch(dir string, inst Install, acc *account, o Options) (*Server, error) {
	if err := removeStalePID(dir); err != nil {
		return nil, err
	}
	socket := socketDir(dir)
	if socket != dir {
		if err := acc.privateDir(socket); err != nil {
			return nil, fmt.Errorf("make the socket's folder: %w", err)
		}
	}
	settings := maps.Clone(defaults)
	maps.Copy(settings, o.Settings)
	settings["unix_socket_directories"] = socket
	args := []string{"-D", dir}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", k+"="+settings[k])
	}
	log, err := openLog(dir)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(inst.Bin, "postgres"), args...) // not tied to a context: it outlives us
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = dir, acc.attributes(), log, log
	cmd.Env = []string{"LC_ALL=C"} // its complaints are read; nothing else of ours is its business
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	s := &Server{dir: dir, socket: socket, pid: cmd.Process.Pid, gone: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended stands in its log
		close(s.gone)
	}()
	return s, nil
}

const maxSocketPath = 107

// socketDir is where the server of a data directory puts its socket.
func socketDir(dir string) string {
	if len(dir)+len("/.s.PGSQL.5432.lock") <= maxSocketPath {
		return dir
	}
	h := sha256.Sum256([]byte(dir))
	return filepath.Join(os.TempDir(), "weir-pg-"+hex.EncodeToString(h[:6]))
}

const maxLog = 16 << 20

func logPath(dir string) string { return filepath.Join(dir, "server.log") }

// openLog appends to the server's log; a log that has grown large is set aside first.
func openLog(dir string) (*os.File, error) {
	if info, err := os.Stat(logPath(dir)); err == nil && info.Size() > maxLog {
		if err := os.Rename(logPath(dir), logPath(dir)+".1"); err != nil {
			return nil, fmt.Errorf("set the server's old log aside: %w", err)
		}
	}
	f, err := os.OpenFile(logPath(dir), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the server's log: %w", err)
	}
	return f, nil
}
