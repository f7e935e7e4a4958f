// Command dbctl helps with migrations: it starts a new one, and dumps what a database has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	weirdb "github.com/weirhq/weir/db"
)

const usage = `usage:
  dbctl new <schema> <what_it_does>            start a migration in migrations/<schema>
  dbctl dump -url <admin URL> [-prefix weir] <schema>   describe a schema of a live database, to compare with schema/<schema>.sql
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dbctl:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch args[0] {
	case "new":
		return create(out, args[1:])
	case "dump":
		return dump(ctx, out, args[1:])
	}
	return errors.New(usage)
}

func dump(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("dump", flag.ContinueOnError)
	url := flags.String("url", "", "the administrator's database URL")
	prefix := flags.String("prefix", "weir", "the prefix in the role names")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *url == "" || flags.NArg() != 1 {
		return errors.New(usage)
	}
	text, err := weirdb.Dump(ctx, *url, weirdb.Options{Prefix: *prefix}, flags.Arg(0))
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

var nameShape = regexp.MustCompile(`^[a-z][a-z0-9_]{2,40}$`)

const skeleton = `-- +goose Up
-- What this is and why. Every new table goes through exactly one of:
--   SELECT weir_tenant_table('table', 'org');  SELECT weir_work_table('table');  SELECT weir_shared_table('table');

-- +goose Down
`

// create writes the next migration of a schema. It runs in the folder of module db.
func create(out io.Writer, args []string) error {
	if len(args) != 2 || !nameShape.MatchString(args[1]) {
		return errors.New(usage)
	}
	if args[0] != "common" && !slices.Contains(weirdb.Schemas, args[0]) {
		return fmt.Errorf("unknown schema %q: one of %v, or common", args[0], weirdb.Schemas)
	}
	dir := filepath.Join("migrations", args[0])
	existing, err := filepath.Glob(filepath.Join(dir, "[0-9]*.sql"))
	if err != nil {
		return err
	}
	last := 0
	for _, f := range existing {
		n, err := strconv.Atoi(filepath.Base(f)[:5])
		if err != nil {
			return fmt.Errorf("%s does not begin with five digits", f)
		}
		last = max(last, n)
	}
	path := filepath.Join(dir, fmt.Sprintf("%05d_%s.sql", last+1, args[1]))
	if err := os.WriteFile(path, []byte(skeleton), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, path)
	return err
}
