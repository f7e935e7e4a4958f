package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNewTakesTheNextNumber(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := filepath.Join("migrations", "tenant")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"00001_first_thing.sql", "00002_first_thing.sql"} {
		var out strings.Builder
		if err := run(t.Context(), &out, []string{"new", "tenant", "first_thing"}); err != nil {
			t.Fatal(err)
		}
		path := strings.TrimSpace(out.String())
		if path != filepath.Join(dir, want) {
			t.Fatalf("wrote %s, want %s", path, want)
		}
		b, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(b), "-- +goose Up") {
			t.Fatalf("%q, %v", b, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"drop"}, {"new", "tenant"}, {"new", "nobody", "a_thing"}, {"new", "tenant", "../up"}, {"dump", "tenant"}} {
		if err := run(t.Context(), &strings.Builder{}, args); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
