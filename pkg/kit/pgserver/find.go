package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// MinMajor is the oldest major version that will do.
const MinMajor = 15

// ErrNotFound means that no suitable PostgreSQL is installed.
var ErrNotFound = fmt.Errorf("no PostgreSQL %d or later found: install the package postgresql (Debian: apt-get install postgresql)", MinMajor)

// Install is one installed PostgreSQL.
type Install struct {
	Bin   string // the folder of initdb and postgres
	Major int
}

// places are where distributions put the server's binaries, which are seldom on PATH.
var places = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib64/pgsql/bin", "/usr/local/pgsql/bin"}

// Find returns the newest installed PostgreSQL: in the given folders of binaries, or where
// distributions put it when none is given.
func Find(ctx context.Context, bins ...string) (Install, error) {
	dirs := bins
	if len(bins) == 0 {
		var err error
		if dirs, err = usual(); err != nil {
			return Install{}, err
		}
	}
	var best Install
	for _, d := range dirs {
		if major, err := majorOf(ctx, d); err == nil && major > best.Major {
			best = Install{Bin: d, Major: major}
		}
	}
	if best.Major < MinMajor {
		return Install{}, ErrNotFound
	}
	return best, nil
}

// usual is every folder that may hold the binaries.
func usual() (dirs []string, err error) {
	for _, p := range places {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, fmt.Errorf("look for PostgreSQL: %w", err)
		}
		dirs = append(dirs, found...)
	}
	if onPath, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(onPath))
	}
	return dirs, nil
}

var versionShape = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

func majorOf(ctx context.Context, bin string) (int, error) {
	if _, err := exec.LookPath(filepath.Join(bin, "initdb")); err != nil {
		return 0, err
	}
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return 0, err
	}
	m := versionShape.FindSubmatch(out)
	if m == nil {
		return 0, errors.New("unknown version")
	}
	return strconv.Atoi(string(m[1]))
}
