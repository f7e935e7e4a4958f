package db

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed all:migrations
var files embed.FS

//go:embed functions.sql
var functionsSQL string

// Schemas are the services' schemas, in the order in which they start.
var Schemas = []string{"tenant", "inventory", "allocator", "metering"}

// common is the folder of migrations that every schema gets.
const common = "common"

// migrations returns the .sql files of one folder, or nil when it has none.
func migrations(folder string) (fs.FS, error) {
	dir := path.Join("migrations", folder)
	entries, err := fs.ReadDir(files, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), ".sql") }) {
		return nil, nil
	}
	return fs.Sub(files, dir)
}

// Fingerprint changes whenever the result of migrating these schemas may: with any of
// their migrations, functions or rights.
func Fingerprint(schemas ...string) string {
	h := sha256.New()
	for _, folder := range append([]string{common}, schemas...) {
		_ = fs.WalkDir(files, path.Join("migrations", folder), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := files.ReadFile(p)
			fmt.Fprintf(h, "%s %d\n%s", p, len(b), b)
			return err
		})
	}
	fmt.Fprint(h, functionsSQL, setupSQL)
	return hex.EncodeToString(h.Sum(nil))
}
