package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Superuser is the administrator of a server made here.
const Superuser = "weir"

// Init makes the data directory with that administrator's password, unless it is there
// already. A run that was killed half way leaves nothing behind that the next one trips
// over: the directory gets its name last. bins is where to look for the binaries, see Find.
func Init(ctx context.Context, dir, password string, bins ...string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("the data directory %s must be an absolute path", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "PG_VERSION")); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look into the data directory: %w", err)
	}
	inst, err := Find(ctx, bins...)
	if err != nil {
		return err
	}
	acc, err := serverAccount()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	if err := acc.reach(dir); err != nil {
		return err
	}
	making := dir + ".making"
	if err := os.RemoveAll(making); err != nil {
		return fmt.Errorf("clear a half-made data directory: %w", err)
	}
	if err := acc.privateDir(making); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	if err := initdb(ctx, inst, acc, making, password); err != nil {
		return errors.Join(err, os.RemoveAll(making))
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("the data directory is not PostgreSQL's and not empty: %w", err), os.RemoveAll(making))
	}
	if err := os.Rename(making, dir); err != nil {
		return errors.Join(fmt.Errorf("name the data directory: %w", err), os.RemoveAll(making))
	}
	return nil
}

func initdb(ctx context.Context, inst Install, acc *account, dir, password string) error {
	pw, err := os.CreateTemp("", "weir-pw-*") // 0600
	if err != nil {
		return fmt.Errorf("write the password file: %w", err)
	}
	defer os.Remove(pw.Name())
	_, err = pw.WriteString(password + "\n")
	if err := errors.Join(err, pw.Close(), acc.own(pw.Name())); err != nil {
		return fmt.Errorf("write the password file: %w", err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(inst.Bin, "initdb"), "-D", dir, "-U", Superuser, "--pwfile="+pw.Name(),
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--data-checksums", "--no-instructions")
	cmd.Dir, cmd.SysProcAttr = dir, acc.attributes()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, lastLine(string(out)))
	}
	return nil
}

// dataMajor is the major version that made the data directory.
func dataMajor(dir string) (int, error) {
	b, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	if err != nil {
		return 0, fmt.Errorf("read the data directory's version: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
