package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// row is one whole-card request of the trace.
type row struct {
	name      string
	cpuMilli  int
	memoryMiB int
	cards     int
}

// readTrace returns the first n rows that ask for 1 to 8 whole cards.
func readTrace(path string, n int) ([]row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the trace is not there (OPENB=dir names its folder): %w", err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("read the head of %s: %w", path, err)
	}
	col := map[string]int{}
	for i, h := range head {
		col[h] = i
	}
	for _, need := range []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"} {
		if _, ok := col[need]; !ok {
			return nil, fmt.Errorf("%s has no column %s", path, need)
		}
	}
	var rows []row
	for len(rows) < n {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		num := func(name string) int {
			v, convErr := strconv.Atoi(rec[col[name]])
			err = errors.Join(err, convErr)
			return v
		}
		x := row{name: rec[col["name"]], cpuMilli: num("cpu_milli"), memoryMiB: num("memory_mib"), cards: num("num_gpu")}
		milli := num("gpu_milli")
		if err != nil {
			return nil, fmt.Errorf("row %s of %s: %w", x.name, path, err)
		}
		if milli == 1000 && x.cards >= 1 && x.cards <= 8 {
			rows = append(rows, x)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s holds no whole-card request", path)
	}
	return rows, nil
}

// writeFleet writes the CSV of 8-card servers that hold about three quarters of what the
// rows ask for, so that the pool fills up, refuses, and takes the rest after a release.
// Half are H100, half A100; CPU and RAM are those of the trace's commonest 8-card server.
func writeFleet(dir string, rows []row) (path string, cards int, err error) {
	want := 0
	for _, r := range rows {
		want += r.cards
	}
	servers := max(2, want*3/4/8)
	path = filepath.Join(dir, "fleet.csv")
	f, err := os.Create(path)
	if err != nil {
		return "", 0, err
	}
	w := csv.NewWriter(f)
	_ = w.Write([]string{"name", "board", "cards", "cpu_milli", "memory_mib"})
	for i := range servers {
		board := "h100-80gb-sxm5@whole"
		if i%2 == 1 {
			board = "a100-40gb@whole"
		}
		_ = w.Write([]string{fmt.Sprintf("openb-%03d", i), board, "8", "96000", "393216"})
	}
	w.Flush()
	return path, servers * 8, errors.Join(w.Error(), f.Close())
}
